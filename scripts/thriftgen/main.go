// SPDX-License-Identifier: Apache-2.0

// Command thriftgen turns thrift/storm.thrift into the Go package thrift/storm.
//
// It runs the system's Thrift compiler and then mends three things that the compiler cannot do for Storm's interface:
//
//   - Assignment has maps keyed by a list, which have no Go form; its generated code is dropped, and
//     thrift/storm/assignment.go, written by hand, takes its place;
//   - a default of an empty map would turn a field into a pointer to a map, so such defaults are left out;
//   - heartbeat times are i32 in Storm 2 and i64 in Storm 3, so their readers take both.
//
// Usage: thriftgen -idl thrift/storm.thrift -out thrift/storm.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// handWritten is the struct whose code lives in a file of its own.
const handWritten = "Assignment"

// header opens each generated file.
const header = "// SPDX-License-Identifier: Apache-2.0\n\n"

// wideSeconds returns the i32 fields that peers of another Storm version send as i64, as struct and Go field.
func wideSeconds() [][2]string {
	return [][2]string{
		{"ClusterWorkerHeartbeat", "TimeSecs"},
		{"ClusterWorkerHeartbeat", "UptimeSecs"},
		{"LSWorkerHeartbeat", "TimeSecs"},
		{"SupervisorWorkerHeartbeat", "TimeSecs"},
	}
}

func main() {
	idl := flag.String("idl", "thrift/storm.thrift", "the IDL to read")
	out := flag.String("out", "thrift/storm", "the package folder to write")
	flag.Parse()
	if err := run(context.Background(), *idl, *out); err != nil {
		fmt.Fprintln(os.Stderr, "thriftgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, idl, out string) error {
	source, err := os.ReadFile(idl)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "thriftgen")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // a folder in the system's own place for temporary files
	prepared := filepath.Join(work, "storm.thrift")
	if err := os.WriteFile(prepared, prepare(source), 0o600); err != nil {
		return err
	}
	compiler := exec.CommandContext(ctx, "thrift", "--gen", "go:skip_remote", "-out", work, prepared)
	if text, err := compiler.CombinedOutput(); err != nil {
		return fmt.Errorf("run the thrift compiler (Debian's package is thrift-compiler): %w\n%s", err, text)
	}
	code, err := os.ReadFile(filepath.Join(work, "storm", "storm.go"))
	if err != nil {
		return err
	}
	mended, err := mend(code)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "storm.go"), mended, 0o644)
}

// prepare makes an IDL that the compiler accepts: list keys become i64 (that code is dropped later) and empty defaults go.
func prepare(source []byte) []byte {
	source = regexp.MustCompile(`map<list<i64>, `).ReplaceAll(source, []byte("map<i64, "))
	return regexp.MustCompile(` = (\{\}|\[\]);`).ReplaceAll(source, []byte(";"))
}

// mend drops the hand-written struct from the compiler's output and widens the readers of heartbeat times.
func mend(code []byte) ([]byte, error) {
	code, err := dropStruct(code, handWritten)
	if err != nil {
		return nil, err
	}
	for _, field := range wideSeconds() {
		if code, err = widen(code, field[0], field[1]); err != nil {
			return nil, err
		}
	}
	formatted, err := format.Source(code)
	if err != nil {
		return nil, fmt.Errorf("format the generated code: %w", err)
	}
	return append([]byte(header), formatted...), nil
}

// dropStruct cuts a struct's type, constructor, defaults and methods out of Go source.
func dropStruct(code []byte, name string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "storm.go", code, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse the generated code: %w", err)
	}
	type span struct{ from, to int }
	var cut []span
	for _, decl := range file.Decls {
		if belongsTo(decl, name) {
			cut = append(cut, span{files.Position(decl.Pos()).Offset, files.Position(decl.End()).Offset})
		}
	}
	if len(cut) == 0 {
		return nil, fmt.Errorf("the generated code has no struct %s", name)
	}
	slices.Reverse(cut)
	for _, s := range cut {
		code = slices.Concat(code[:s.from], code[s.to:])
	}
	return code, nil
}

// belongsTo reports whether a declaration is the struct's type, constructor, default variable or method.
func belongsTo(decl ast.Decl, name string) bool {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name == "New"+name
		}
		star, ok := d.Recv.List[0].Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		receiver, ok := star.X.(*ast.Ident)
		return ok && receiver.Name == name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				return s.Name.Name == name
			case *ast.ValueSpec:
				return regexp.MustCompile(`^` + name + `_[A-Za-z]+_DEFAULT$`).MatchString(s.Names[0].Name)
			}
		}
	}
	return false
}

// widen adds to a struct's reader the branch that takes an i64 where the IDL says i32.
func widen(code []byte, structName, field string) ([]byte, error) {
	reader := []byte("func (p *" + structName + ") Read(")
	start := bytes.Index(code, reader)
	if start < 0 {
		return nil, fmt.Errorf("the generated code has no reader of %s", structName)
	}
	mark := []byte("isset" + field + " = true\n")
	at := bytes.Index(code[start:], mark)
	if at < 0 {
		return nil, fmt.Errorf("the reader of %s has no required field %s", structName, field)
	}
	at += start + len(mark)
	rest := bytes.TrimLeft(code[at:], " \t")
	if !bytes.HasPrefix(rest, []byte("} else {")) {
		return nil, errors.New("the reader of " + structName + "." + field + " has an unknown form")
	}
	branch := fmt.Sprintf("} else if fieldTypeId == thrift.I64 {\n v, err := iprot.ReadI64(ctx)\n if err != nil {\n return thrift.PrependError(\"error reading %s: \", err)\n }\n p.%s = int32(v)\n isset%s = true\n",
		field, field, field)
	return slices.Concat(code[:at], []byte(branch), rest), nil
}
