package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/store/postgres"
)

func TestBound(t *testing.T) {
	for _, test := range []struct {
		b    bound
		want string
	}{
		{bound{what: "pages", figure: 1.3, limit: 1.3}, "ok      pages = 1.30 (required ≤ 1.3)"},
		{bound{what: "pages", figure: 1.31, limit: 1.3}, "MISSED  pages = 1.31 (required ≤ 1.3)"},
		{bound{what: "claims", figure: 0.5, limit: 0.5, least: true}, "ok      claims = 0.50 (required ≥ 0.5)"},
		{bound{what: "claims", figure: 0.49, limit: 0.5, least: true}, "MISSED  claims = 0.49 (required ≥ 0.5)"},
	} {
		if got := test.b.String(); got != test.want {
			t.Errorf("String = %q, want %q", got, test.want)
		}
	}
}

// pgbench's script is the statement, word for word, but for the parameters.
func TestClaimScript(t *testing.T) {
	if strings.Contains(claimScript, "$") {
		t.Errorf("a parameter was left in place:\n%s", claimScript)
	}
	theirs := regexp.MustCompile(`\((ARRAY\[)?:\w+::\w+(\[\])?\]?\)`).ReplaceAllString(claimScript, "?")
	ours := regexp.MustCompile(`\$\d+(::\w+(\[\])?)?`).ReplaceAllString(postgres.HandOut, "?")
	if _, theirs, _ = strings.Cut(theirs, "1000000000)\n"); theirs != ours+";\n" {
		t.Errorf("pgbench would run\n%s\nwant\n%s", theirs, ours)
	}
}

func TestBoardSuite_unknownPart(t *testing.T) {
	if err := run([]string{"board", "-only", "oracle"}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "oracle") {
		t.Errorf("board -only oracle = %v, want an error that names it", err)
	}
}
