package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Timeout     int `yaml:"timeout-minutes"`
		Strategy    struct {
			Matrix struct{ Target []string }
		}
		Steps []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	// action is an action of the platform itself, by its major version, or any one by its commit.
	action = regexp.MustCompile(`^(actions/[a-z-]+@v\d+|[\w.-]+/[\w./-]+@[0-9a-f]{40})$`)
)

// Workflows call targets that there are, with few permissions, and no text of an event gets into a script.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		known = append(known, m[1])
	}
	paths, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(paths) != 3 {
		t.Fatalf("workflows: %v, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: the permissions of all jobs are %v, want contents: read", path, w.Permissions)
		}
		var called []string
		for name, job := range w.Jobs {
			if job.Timeout == 0 {
				t.Errorf("%s: job %s has no timeout", path, name)
			}
			if len(job.Permissions) > 0 && filepath.Base(path) != "release.yml" {
				t.Errorf("%s: job %s has permissions %v", path, name, job.Permissions)
			}
			called = append(called, job.Strategy.Matrix.Target...)
			for _, step := range job.Steps {
				if step.Uses != "" && !action.MatchString(step.Uses) {
					t.Errorf("%s: %s is pinned neither by commit nor, for an action of the platform, by major version", path, step.Uses)
				}
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s: job %s leaves the token in the checkout", path, name)
				}
				if rest, ok := strings.CutPrefix(step.Run, "make "); ok {
					called = append(called, rest)
				}
				if strings.Contains(step.Run, "${{") && step.Run != "make ${{ matrix.target }}" {
					t.Errorf("%s: an expression in a script: %s", path, step.Run)
				}
			}
		}
		for _, call := range called {
			for word := range strings.FieldsSeq(strings.ReplaceAll(call, "${{ matrix.target }}", "")) {
				if !strings.Contains(word, "=") && !slices.Contains(known, word) {
					t.Errorf("%s: make has no target %s", path, word)
				}
			}
		}
	}
}
