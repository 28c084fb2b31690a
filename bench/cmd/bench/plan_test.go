package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The arithmetic of docs/scale.md is what its line of figures gives.
func TestPrintPlan(t *testing.T) {
	text, err := os.ReadFile("../../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- plan: ")
	figures, rest, _ := strings.Cut(rest, " -->\n\n")
	var c taskCost
	if n, err := fmt.Sscanf(figures, "PostgreSQL %f ms, standby %f ms, replicas %f ms, WAL %f KiB, database %f KiB", &c.postgres, &c.standby, &c.replicas, &c.wal, &c.database); n != 5 || err != nil {
		t.Fatalf("the figures %q: %v", figures, err)
	}
	got, _, _ := strings.Cut(rest, "\n\n")
	var want strings.Builder
	printPlan(&printer{w: &want}, c)
	if got+"\n" != want.String() {
		t.Errorf("docs/scale.md has\n%s\nwant\n%s", got, want.String())
	}
}
