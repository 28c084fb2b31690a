package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pressly/goose/v3"
	"github.com/rogpeppe/go-internal/testscript"
)

// older makes a board as an older version made it, with the schema of that number: older FILE 12.
func older(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: older FILE SCHEMA")
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	db, err := sql.Open("sqlite", path)
	ts.Check(err)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("../../store/sqlite/migration"), goose.WithDisableGlobalRegistry(true))
	ts.Check(err)
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	_, err = p.UpTo(context.Background(), n)
	ts.Check(err)
}
