package gateway

import (
	"strings"
	"testing"
)

func TestPublishedName(t *testing.T) {
	long := strings.Repeat("a", 60)
	for _, c := range []struct{ upstream, item, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"x", "a.b-c", "x__a.b-c"},
		{"x", strings.Repeat("a", 47), "x__" + strings.Repeat("a", 47)},
		{"x", "", ""},
		{"x", "a b", ""},
		{"x", "a/b", ""},
		{"x", "ä", ""},
	} {
		got, ok := publishedName(c.upstream, c.item)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("publishedName(%q, %q) = %q, %v, want %q", c.upstream, c.item, got, ok, c.want)
		}
	}
	one, _ := publishedName("x", long+"1")
	two, _ := publishedName("x", long+"2")
	if len(one) != maxName || len(two) != maxName || one == two || one[:keptName+1] != two[:keptName+1] {
		t.Errorf("names of 60 characters: %q, %q", one, two)
	}
}

func TestPublish(t *testing.T) {
	names, refused := publish(map[string][]string{
		"a": {"get-x", "get_x", "Other", "twice", "twice", "bad name"},
		"b": {"get_x", "tools"},
	}, []string{"b__tools"})
	if len(names) != 2 || names[item{"a", "Other"}] != "a__Other" || names[item{"b", "get_x"}] != "b__get_x" {
		t.Errorf("published = %v", names)
	}
	for _, it := range []item{{"a", "get-x"}, {"a", "get_x"}, {"a", "twice"}, {"a", "bad name"}, {"b", "tools"}} {
		if refused[it] == "" {
			t.Errorf("%v was not refused", it)
		}
	}
}

// Published names fit the budget, have only characters that clients accept, and no two of them compare
// equal.
func FuzzPublish(f *testing.F) {
	f.Add("get_x get-x GET.X", strings.Repeat("n", 80)+" tool")
	f.Fuzz(func(t *testing.T, one, two string) {
		lists := map[string][]string{"one": strings.Fields(one), "two2": strings.Fields(two), "one2": strings.Fields(two)}
		names, refused := publish(lists, nil)
		seen := map[string]item{}
		for it, name := range names {
			if len(name) > maxName || !itemName.MatchString(name) {
				t.Errorf("%v is published as %q", it, name)
			}
			if other, ok := seen[foldName(name)]; ok {
				t.Errorf("%v and %v are both published as %q", it, other, name)
			}
			seen[foldName(name)] = it
		}
		for upstream, list := range lists {
			for _, name := range list {
				_, published := names[item{upstream, name}]
				if _, no := refused[item{upstream, name}]; published == no {
					t.Errorf("%s of %s: published %v, refused %v", name, upstream, published, no)
				}
			}
		}
	})
}
