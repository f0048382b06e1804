// SPDX-License-Identifier: Apache-2.0

// Validate and ValidateTopology: the checks of the key table run over a conf, in Storm's order and with Storm's texts.

package config

import (
	"errors"
	"fmt"
)

// FaultError is one value that a check refused. Its text is what Storm says, to the letter, so that a client cannot tell the
// difference; only a secret value is replaced in it.
type FaultError struct {
	Key  string // configuration key
	Text string // what Storm says
	// Internal says that Storm would not report the fault to the client as an invalid topology, but end the call with an
	// internal error: a class that cannot be loaded, or a value of a type that its check did not expect.
	Internal bool
}

// Error returns the text alone: Storm's clients see nothing else.
func (f *FaultError) Error() string { return f.Text }

// ValidateTopology checks the conf that comes with a topology, after [ParseJSON], as Nimbus does at submit: the keys of Storm's
// Config, no others. The error is the first fault that Storm would report, a [*FaultError].
func ValidateTopology(conf Conf) error { return validateFirst(conf, classConfig) }

// ValidateOwn checks gust's own keys in the conf that comes with a topology, of which Storm knows nothing.
func ValidateOwn(conf Conf) error { return validateFirst(conf, classGust) }

func validateFirst(conf Conf, class keyClass) error {
	for i := range keyTable {
		s := &keyTable[i]
		if s.class != class {
			continue
		}
		if err := s.validate(fromJSON, conf); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks a daemon's conf, after [Load]: the keys of Storm's Config and DaemonConfig, and gust's. The error joins all
// faults, at most one a key, each a [*FaultError]. Class names that Storm knows and gust does not are [ValidateClasses]'s part.
func Validate(conf Conf) error {
	var errs []error
	refused := map[string]bool{}
	for _, class := range []keyClass{classDaemon, classConfig, classGust, classNone} { // Storm's order
		for i := range keyTable {
			s := &keyTable[i]
			if s.class != class || refused[s.key] {
				continue
			}
			if err := s.validate(fromYAML, conf); err != nil {
				refused[s.key] = true
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// validate runs the checks of one row if the conf has its key, null included.
func (s *keySpec) validate(d dialect, conf Conf) error {
	v, ok := conf[s.key]
	if !ok {
		return nil
	}
	name := s.field
	if s.class == classGust { // Java has no field for it
		name = s.key
	}
	for _, c := range s.checks {
		r := refuser{dialect: d, key: s.key}
		if !r.check(c, name, v) {
			return r.fault
		}
	}
	return nil
}

// refuser collects the first fault that the checks of one value find.
type refuser struct {
	dialect
	key   string
	fault *FaultError
}

// refuse records a fault, unless there is one already, and returns false: a check that has to go on only if another one passed
// can return its answer.
func (r *refuser) refuse(format string, args ...any) bool {
	if r.fault == nil {
		r.fault = &FaultError{Key: r.key, Text: fmt.Sprintf(format, args...)}
	}
	return false
}

// crash records a fault that is an internal error in Storm.
func (r *refuser) crash(format string, args ...any) bool {
	if r.fault == nil {
		r.fault = &FaultError{Key: r.key, Text: fmt.Sprintf(format, args...), Internal: true}
	}
	return false
}

// shown is a value as the texts quote it.
func (r *refuser) shown(v any) string {
	if v != nil && IsSecret(r.key) {
		return Redacted
	}
	return r.text(v)
}

// check runs one check of the table. The cases are the annotations that Storm's classes carry.
func (r *refuser) check(c check, name string, v any) bool {
	switch c.is {
	case "IsString":
		return r.str(name, c.a, v)
	case "IsBoolean":
		return r.simple(name, "java.lang.Boolean", v)
	case "IsNumber":
		return r.simple(name, "java.lang.Number", v)
	case "IsType":
		return r.simple(name, c.a[0], v)
	case "IsInteger":
		return r.integer(name, v)
	case "IsLong":
		return r.long(name, v)
	case "IsPositiveNumber":
		return r.positive(name, c.zero, v)
	case "IsPowerOf2":
		return r.powerOf2(name, v)
	case "NotNull", "Password":
		return r.notNull(name, v)
	case "IsStringList":
		return r.list("null", name, v, r.instance("java.lang.String"))
	case "IsListEntryType":
		return r.list("null", name, v, r.instance(c.a[0]))
	case "IsStringOrStringList":
		if _, ok := v.(string); ok {
			return true
		}
		return r.list("null", name, v, r.instance("java.lang.String"))
	case "IsMapEntryType":
		return r.mapping(name, v, r.instance(c.a[0]), r.instance(c.b[0]))
	case "IsNoDuplicateInList":
		return r.noDuplicates(name, v)
	case "IsListEntryCustom":
		return r.listCustom(name, c.a, v)
	case "IsMapEntryCustom":
		return r.mapCustom(name, c.a, c.b, v)
	case "IsExactlyOneOf":
		return r.exactlyOne(name, c.a, v)
	case "IsKryoReg":
		return r.kryoRegister(name, v)
	case "IsImplementationOfClass":
		return r.implements(name, c.a[0], v)
	case "IsDerivedFrom":
		return r.derives(name, c.a[0], v)
	case "CustomValidator":
		return r.validator(c.a[0], name, v)
	default:
		return r.crash("key %s has the check %s, which this release of gust does not know", r.key, c.is)
	}
}

// validator runs one of Storm's validator classes by name, as the custom checks list them.
func (r *refuser) validator(class, name string, v any) bool {
	switch class[lastDollar(class)+1:] {
	case "StringValidator":
		return r.str(name, nil, v)
	case "IntegerValidator":
		return r.integer(name, v)
	case "PositiveNumberValidator":
		return r.positive(name, false, v)
	case "MapOfStringToMapOfStringToObjectValidator":
		return r.blobstoreMap(name, v)
	case "PacemakerAuthTypeValidator":
		return r.pacemakerAuth(name, v)
	case "ClusterMetricRegistryValidator":
		return r.registry(name, v, "class")
	case "MetricRegistryValidator":
		return r.registry(name, v, "class", "parallelism.hint")
	case "EventLoggerRegistryValidator":
		return r.eventLogger(name, v)
	case "MetricReportersValidator":
		return r.metricReporter(name, v)
	case "ListOfListOfStringValidator":
		return r.listOfLists(name, v)
	case "RasConstraintsTypeValidator":
		return r.rasConstraints(name, v)
	case "ImpersonationAclUserEntryValidator":
		return r.impersonation(name, v)
	case "UserResourcePoolEntryValidator":
		return r.resourcePool(name, v)
	case "NumaEntryValidator":
		return r.numa(name, v)
	default:
		return r.crash("key %s has the validator %s, which this release of gust does not know", r.key, class)
	}
}

// lastDollar finds where the simple name of a nested Java class begins; -1 if the class is not nested.
func lastDollar(class string) int {
	for i := len(class) - 1; i >= 0; i-- {
		if class[i] == '$' {
			return i
		}
	}
	return -1
}
