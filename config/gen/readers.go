// SPDX-License-Identifier: Apache-2.0

// Who reads which key: found in the project's own source, so that the page cannot claim what is not so.

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// readers names the parts of gust by the folder that their source lies in.
func readers() map[string]string {
	return map[string]string{
		"nimbus": "nimbus", "topology": "nimbus", "supervisor": "supervisor", "cmd": "commands",
		"worker": "Go worker", "multilang": "Go worker", "messaging": "Go worker", "program": "Go worker",
		"config": "all",
	}
}

// findReaders notes for each key the parts that read it.
func findReaders(root string, keys []key) error {
	byConst, byName := map[string]string{}, map[string]map[string]bool{}
	for _, k := range keys {
		byConst[constName(k.Key)] = k.Key
		byName[k.Key] = map[string]bool{}
	}
	for folder, part := range readers() {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			case folder == "config" && d.Name() != "paths.go": // the others know all keys
				return nil
			}
			names, err := namesIn(path)
			if err != nil {
				return err
			}
			for name := range names {
				if key, ok := byConst[name]; ok {
					name = key
				}
				if parts, ok := byName[name]; ok {
					parts[part] = true
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("look for who reads what: %w", err)
		}
	}
	for i := range keys {
		parts := byName[keys[i].Key]
		if parts["all"] {
			parts = map[string]bool{"all": true}
		}
		keys[i].readBy = slices.Sorted(maps.Keys(parts))
	}
	return nil
}

// namesIn gives the names that a file takes from package config, or in that package itself all names, and its literal strings.
func namesIn(path string) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && from.Name == "config" {
				names[n.Sel.Name] = true
			}
		case *ast.Ident:
			if file.Name.Name == "config" {
				names[n.Name] = true
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil {
				names[text] = true
			}
		}
		return true
	})
	return names, nil
}

// idle says whether a key is for the daemons that gust replaces and none of its own reads it: to set it does nothing. The keys of
// daemons that gust does not replace are theirs, those of clients reach workers.
func (k *key) idle(also []string) bool {
	if slices.Contains(also, k.Key) {
		return true
	}
	first, _, _ := strings.Cut(k.Key, ".")
	switch {
	case len(k.readBy) > 0 || k.Again || strings.Contains(k.Key, ".client.") || strings.HasSuffix(k.Key, ".transport"):
		return false
	case k.Class == "DaemonConfig":
		return !slices.Contains([]string{"ui", "drpc", "logviewer", "pacemaker", "dev"}, first)
	}
	return k.Class == "Config" && (first == "nimbus" || first == "supervisor")
}
