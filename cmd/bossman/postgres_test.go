package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestPostgres runs the scripts that need a server's database; $DB is an empty one.
func TestPostgres(t *testing.T) {
	cluster := pgtest.Shared(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "postgres"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			name := "cli_" + strings.ToLower(filepath.Base(env.WorkDir))
			name = strings.ReplaceAll(name, "-", "_")
			cluster.Exec(t, "postgres", "CREATE DATABASE "+name)
			env.Setenv("DB", cluster.DSN(name))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "revoke": revoke},
	})
}
