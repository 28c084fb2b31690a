package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestPostgres runs the scripts that need a server's database; $DB is an empty
// one for the server's role, and $OWNERDB the same for its owner.
func TestPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "postgres"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("GORACE", os.Getenv("GORACE"))
			name := "cli_" + strings.ToLower(filepath.Base(env.WorkDir))
			name = strings.ReplaceAll(name, "-", "_")
			cluster.Roles(t)
			cluster.Exec(t, "postgres", "CREATE DATABASE "+name+" OWNER "+pgtest.Owner)
			env.Setenv("OWNERDB", cluster.DSNAs(pgtest.Owner, name))
			env.Setenv("DB", cluster.DSNAs(pgtest.App, name))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "revoke": revoke},
	})
}
