package remote

import (
	"context"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
)

// TestOp_withoutRow: an operation of a verb that is not in the table, or that has one
// already, does not start.
func TestOp_withoutRow(t *testing.T) {
	serve := func(context.Context, *call, none) (none, error) { return none{}, nil }
	for what, v := range map[string]*access.Verb{
		"not in the table":         {Name: "nosuch", Role: auth.Viewer},
		"a copy of a row":          new(*access.Login),
		"with an operation so far": access.Next,
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("op of a verb %s did not panic", what)
					delete(operations, v)
				}
			}()
			op(v, serve)
		}()
	}
}

// TestOperations: every verb has an operation, except logging in, which is not the
// board's.
func TestOperations(t *testing.T) {
	for _, v := range access.Verbs() {
		if _, ok := operations[v]; !ok && v != access.Login {
			t.Errorf("%s has no operation", v.Name)
		}
	}
}
