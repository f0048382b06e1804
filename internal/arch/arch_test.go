// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/gust-stream/gust/"

// maxLines is the length at which a hand-written file is too long to read in one sitting.
const maxLines = 800

// source is one parsed Go file of the product, its path relative to the module's root.
type source struct {
	path  string
	lines int
	text  string
	file  *ast.File
	set   *token.FileSet
}

func (s source) pkg() string { return path.Dir(s.path) }

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// sources parses every Go file of the module; compat-tests and bench are modules of their own.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var found []source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && relative != "." || slices.Contains([]string{"build", "bin", "compat-tests", "bench", "testdata", "node_modules"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || relative == filepath.Join("thrift", "storm", "storm.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.ParseComments)
		if err != nil {
			return err
		}
		found = append(found, source{path: filepath.ToSlash(relative), lines: strings.Count(string(text), "\n"), text: string(text), file: parsed, set: set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 50 {
		t.Fatalf("only %d files found: is the root right?", len(found))
	}
	return found
}

// layers is layers.txt.
type layers struct {
	number map[string]float64 // by pattern
	pure   []string
}

func readLayers(t *testing.T) layers {
	t.Helper()
	file, err := os.Open("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	l := layers{number: map[string]float64{}}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		words := strings.Fields(scanner.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "pure" {
			l.pure = append(l.pure, words[1:]...)
			continue
		}
		number, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			t.Fatalf("layers.txt: %q", scanner.Text())
		}
		for _, pattern := range words[1:] {
			l.number[pattern] = number
		}
	}
	return l
}

// of returns the layer of a package by its longest pattern.
func (l layers) of(pkg string) (float64, bool) {
	if number, ok := l.number[pkg]; ok {
		return number, true
	}
	for dir := pkg; dir != "."; dir = path.Dir(dir) {
		if number, ok := l.number[dir+"/..."]; ok {
			return number, true
		}
	}
	return 0, false
}

func TestLayers(t *testing.T) {
	t.Parallel()
	l := readLayers(t)
	for _, s := range sources(t) {
		own, ok := l.of(s.pkg())
		if !ok {
			t.Errorf("%s: package %s is in no layer of internal/arch/layers.txt", s.path, s.pkg())
			continue
		}
		if s.test() {
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil || !strings.HasPrefix(imported, module) {
				continue
			}
			imported = strings.TrimPrefix(imported, module)
			layer, _ := l.of(imported)
			below := strings.HasPrefix(imported, s.pkg()+"/")
			helper := strings.HasSuffix(s.pkg(), "test") && imported == path.Dir(s.pkg()) // test helpers stand beside their package
			if layer >= own && !below && !helper {
				t.Errorf("%s: %s (layer %v) imports %s (layer %v): imports go downwards only", s.path, s.pkg(), own, imported, layer)
			}
		}
	}
}

func TestPurePackages(t *testing.T) {
	t.Parallel()
	forbidden := []string{"os", "net", "net/http", "go.uber.org/zap", "log", "log/slog", "math/rand", "math/rand/v2", "sync"}
	l := readLayers(t)
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if !slices.Contains(l.pure, s.pkg()) || s.test() {
			continue
		}
		seen[s.pkg()] = true
		for _, spec := range s.file.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err == nil && slices.Contains(forbidden, imported) {
				t.Errorf("%s: a pure package imports %s", s.path, imported)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch node := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a pure package starts a goroutine", s.set.Position(node.Pos()))
			case *ast.SelectorExpr:
				if x, ok := node.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Sleep", "After", "NewTimer", "Since"}, node.Sel.Name) {
					t.Errorf("%s: a pure package asks the clock", s.set.Position(node.Pos()))
				}
			}
			return true
		})
	}
	for _, pkg := range l.pure {
		if !seen[pkg] {
			t.Errorf("layers.txt calls %s pure, but there is no such package", pkg)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	docs := map[string][]string{}
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.text, "// SPDX-License-Identifier: Apache-2.0\n") && !strings.HasPrefix(s.text, "// Code generated") {
			t.Errorf("%s: does not open with its licence", s.path)
		}
		if s.lines > maxLines && !ast.IsGenerated(s.file) {
			t.Errorf("%s: %d lines, more than %d", s.path, s.lines, maxLines)
		}
		if _, ok := docs[s.pkg()]; !ok {
			docs[s.pkg()] = nil
		}
		if s.file.Doc != nil && strings.HasPrefix(s.file.Doc.Text(), prefix(s)) {
			docs[s.pkg()] = append(docs[s.pkg()], s.path)
		}
	}
	for pkg, files := range docs {
		if len(files) != 1 {
			t.Errorf("package %s has %d docs, not one: %v", pkg, len(files), files)
		}
	}
}

func prefix(s source) string {
	if s.file.Name.Name == "main" {
		return "Command "
	}
	return fmt.Sprintf("Package %s ", s.file.Name.Name)
}
