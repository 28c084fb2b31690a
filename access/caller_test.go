package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

func ExampleCaller_May() {
	c := &access.Caller{Role: auth.Lead, Roles: map[string]auth.Role{"web": auth.Lead, "api": auth.Viewer}}
	for _, project := range []string{"web", "api", "shop"} {
		fmt.Println(project, c.May(access.Review, project))
	}
	fmt.Println(c.Projects(access.Review))
	// Output:
	// web <nil>
	// api not allowed: review requires the role lead, and this key has the role viewer; a key with that role: bossman key create --role lead, where the server runs
	// shop not found
	// [web]
}

func TestCaller_Among(t *testing.T) {
	c := &access.Caller{Role: auth.Lead, Roles: map[string]auth.Role{"web": auth.Lead, "api": auth.Viewer}}
	for _, x := range []struct {
		verb  *access.Verb
		named []string
		want  []string
		err   error
	}{
		{access.List, nil, []string{"api", "web"}, nil},
		{access.Next, nil, []string{"web"}, nil},
		{access.SetProject, nil, []string{}, nil},
		{access.List, []string{}, []string{}, nil},
		{access.List, []string{"web"}, []string{"web"}, nil},
		{access.Next, []string{"web", "api"}, nil, board.ErrDenied},
		{access.List, []string{"web", "shop"}, nil, board.ErrNotFound},
	} {
		got, err := c.Among(x.verb, x.named)
		if !slices.Equal(got, x.want) || !errors.Is(err, x.err) || err == nil && got == nil {
			t.Errorf("Among(%s, %q) = %#v, %v, want %#v, %v", x.verb.Name, x.named, got, err, x.want, x.err)
		}
	}
}

// TestCallerFrom_nobody: a request that nobody has authorized may do nothing.
func TestCallerFrom_nobody(t *testing.T) {
	c, ok := access.CallerFrom(context.Background())
	if ok {
		t.Error("CallerFrom found a caller in an empty context")
	}
	for _, v := range access.Verbs() {
		if c.MayAnywhere(v) == nil || c.May(v, "web") == nil || len(c.Projects(v)) > 0 {
			t.Errorf("nobody may %s", v.Name)
		}
	}
}
