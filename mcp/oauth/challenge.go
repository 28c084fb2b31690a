package oauth

import (
	"net/http"
	"strings"
)

// A challenge is how a server says which authorization it wants.
type challenge struct {
	scheme string // in lower case
	params map[string]string
}

// challenges reads the WWW-Authenticate headers of a response.
func challenges(h http.Header) (all []challenge) {
	for _, line := range h.Values("Www-Authenticate") {
		all = append(all, parseChallenges(line)...)
	}
	return all
}

// find is the challenge of a scheme that we know; the first of several.
func find(all []challenge) challenge {
	for _, c := range all {
		if c.scheme == "bearer" || c.scheme == "dpop" {
			return c
		}
	}
	return challenge{}
}

// parseChallenges reads one header, which may hold several challenges.
func parseChallenges(s string) (all []challenge) {
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" {
			return all
		}
		name, rest := token(s)
		if name == "" {
			return all // not a header that can be read
		}
		after := strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(after, "=") { // a scheme, and not a parameter
			all = append(all, challenge{strings.ToLower(name), map[string]string{}})
			s = rest
			continue
		}
		value, rest := value(strings.TrimLeft(after[1:], " \t"))
		if len(all) > 0 {
			params := all[len(all)-1].params
			if name = strings.ToLower(name); params[name] == "" { // the first counts
				params[name] = value
			}
		}
		s = rest
	}
}

func token(s string) (name, rest string) {
	i := strings.IndexAny(s, " \t,=\"")
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// value reads a token or a quoted string.
func value(s string) (v, rest string) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, " \t,")
		if i < 0 {
			return s, ""
		}
		return s[:i], s[i:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "" // without an end it is nothing
}
