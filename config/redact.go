// SPDX-License-Identifier: Apache-2.0

// Which values of a conf are secrets, and a copy of a conf without them.

package config

import (
	"regexp"
	"slices"
	"strings"
)

// Redacted stands in place of a secret value. Storm masks passwords in its logs with the same text.
const Redacted = "*****"

// IsSecret reports whether the value of a key must not be shown: what Storm marks as a password, the ZooKeeper credentials of
// cluster and topologies, and any key (or map entry) whose name says so.
func IsSecret(key string) bool {
	if spec, ok := lookup(key); ok && spec.is("Password") {
		return true
	}
	lower := strings.ToLower(key)
	if strings.HasPrefix(lower, "storm.zookeeper.topology.auth.") {
		return true
	}
	if slices.Contains([]string{
		TopologyAutoCredentials, TaskCredentialsPollSecs, NimbusCredentialRenewersClasses,
		NimbusCredentialRenewersFreqSecs, NimbusAutocredentialPluginsClasses,
	}, key) {
		return false // class names and times
	}
	return secretWords.MatchString(lower)
}

// secretWords are the words that make a key, or the name of a variable or property, one of a secret.
var secretWords = regexp.MustCompile(
	`passw|passphrase|secret|token|credential|auth\.payload|(api|access|private|signing|encryption)[._-]?key`,
)

// Redact returns a copy of conf in which every secret value that is set has become [Redacted], in nested maps and lists as well.
// A missing, null or empty secret stays as it is, so that one still sees whether it was set.
func Redact(conf Conf) Conf {
	if conf == nil {
		return nil
	}
	return redactMap(conf)
}

func redactMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch {
		case v == nil || v == "":
			out[k] = v
		case IsSecret(k):
			out[k] = Redacted
		default:
			out[k] = redactValue(v)
		}
	}
	return out
}

func redactValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return redactMap(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redactValue(e)
		}
		return out
	case string:
		return redactText(v)
	default:
		return v
	}
}

// Secrets inside a text: a property or variable on a command line such as worker.childopts, and the password of a URL.
var (
	secretOption = regexp.MustCompile(`(?i)([\w.-]*(?:passw|passphrase|secret|token)[\w.-]*=)("[^"]*"|'[^']*'|[^\s"',;&]+)`)
	urlPassword  = regexp.MustCompile(`(://[^\s/:@]*:)[^\s/@]+@`)
)

func redactText(s string) string {
	s = secretOption.ReplaceAllString(s, "${1}"+Redacted)
	return urlPassword.ReplaceAllString(s, "${1}"+Redacted+"@")
}
