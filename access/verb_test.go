package access

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
)

// TestVerbs_board: each method of a Board is a verb, and each verb is a method, except
// those named here.
func TestVerbs_board(t *testing.T) {
	notVerbs := map[string]bool{"Changes": true, "Run": true}  // they change and reveal nothing
	notBoard := map[string]bool{"whoami": true, "login": true} // they are about the caller's key
	methods := map[string]bool{}
	for m := range reflect.TypeFor[Board]().Methods() {
		if notVerbs[m.Name] {
			continue
		}
		name := strings.ToLower(m.Name[:1]) + m.Name[1:]
		methods[name] = true
		if _, ok := ByMethod(MethodPrefix + name); !ok {
			t.Errorf("Board.%s has no row in the table of verbs", m.Name)
		}
	}
	for _, v := range Verbs() {
		if !methods[v.Name] && !notBoard[v.Name] {
			t.Errorf("verb %s is not a method of Board", v.Name)
		}
	}
}

// TestRow_incomplete: a row that does not say who may use the verb, or that takes the
// name of another, does not start.
func TestRow_incomplete(t *testing.T) {
	for what, v := range map[string]Verb{
		"without a role": {Name: "nosuch"},
		"without a name": {Role: auth.Viewer},
		"a name twice":   {Name: "next", Role: auth.Viewer},
		"a tool twice":   {Name: "nosuch", Tool: "get_next_task", Role: auth.Viewer},
		"a method twice": {Name: "nosuch", Direct: "getNextTask", Role: auth.Viewer},
	} {
		t.Run(what, func(t *testing.T) {
			before := table.methods
			defer func() {
				if recover() == nil {
					t.Errorf("row(%+v) did not panic", v)
				}
				table.methods = before
				delete(table.methods, MethodPrefix+"nosuch")
			}()
			row(v)
		})
	}
}

func TestVerb_Allows(t *testing.T) {
	for _, c := range []struct {
		verb          *Verb
		agent, person string // who may
	}{
		{Get, "viewer worker lead admin", "viewer worker lead admin"},
		{Next, "worker lead admin", "worker lead admin"},
		{Answer, "lead admin", "worker lead admin"},
		{SetProject, "", "admin"},
		{Login, "", "viewer worker lead admin"},
	} {
		for r := auth.None; r <= auth.Admin; r++ {
			for person, who := range map[bool]string{false: c.agent, true: c.person} {
				if got, want := c.verb.Allows(r, person), strings.Contains(who, r.String()); got != want {
					t.Errorf("%s.Allows(%v, %v) = %v, want %v", c.verb.Name, r, person, got, want)
				}
			}
		}
	}
}
