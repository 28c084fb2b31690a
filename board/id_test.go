package board

import (
	"errors"
	"strings"
	"testing"
)

// TestParseIDIn: people and models write a task's id in any letter case, or as a bare number.
func TestParseIDIn(t *testing.T) {
	for _, c := range []struct{ project, text, want string }{
		{"web", "web-12", "web-12"},
		{"web", "Web-12", "web-12"},
		{"web", "WEB-12", "web-12"},
		{"web", "12", "web-12"},
		{"web", "#12", "web-12"},
		{"web", " 12 ", "web-12"},
		{"web", "api-12", "api-12"},
		{"", "API-12", "api-12"},
		{"", "12", ""},
		{"web", "0", ""},
		{"web", "-12", ""},
		{"web", "+12", ""},
		{"web", "012", ""},
		{"web", "99999999999999999999", ""},
		{"web", "1099511627776", ""},
		{"web", "#", ""},
		{"web", "", ""},
		{"web", "web-", ""},
		{"web", "web", ""},
		{"web", "##1", ""},
	} {
		id, err := ParseIDIn(c.project, c.text)
		if id.String() != c.want || (c.want == "") != errors.Is(err, ErrInvalid) {
			t.Errorf("ParseIDIn(%q, %q) = %v, %v, want %q", c.project, c.text, id, err, c.want)
		}
	}
}

// TestParse_letterCase: claims and questions too.
func TestParse_letterCase(t *testing.T) {
	h, err := ParseHandle(strings.ToUpper("web-4/1.wkaaq"))
	if err != nil || h.String() != "web-4/1.wkaaq" {
		t.Errorf("ParseHandle = %v, %v, want web-4/1.wkaaq", h, err)
	}
	q, err := ParseQuestionID("Q-18")
	if err != nil || q.String() != "q-18" {
		t.Errorf("ParseQuestionID = %v, %v, want q-18", q, err)
	}
}
