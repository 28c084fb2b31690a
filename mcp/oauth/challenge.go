package oauth

import (
	"net/http"
	"strings"
)

// A challenge is an authentication challenge of a server.
type challenge struct {
	scheme string // in lower case
	params map[string]string
}

// challenges parses the WWW-Authenticate headers of a response.
func challenges(h http.Header) (all []challenge) {
	for _, line := range h.Values("Www-Authenticate") {
		all = append(all, parseChallenges(line)...)
	}
	return all
}

// findChallenge returns the first challenge with a supported scheme.
func findChallenge(all []challenge) challenge {
	for _, c := range all {
		if c.scheme == "bearer" || c.scheme == "dpop" {
			return c
		}
	}
	return challenge{}
}

// parseChallenges parses one header, which may contain several challenges.
func parseChallenges(s string) (all []challenge) {
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" {
			return all
		}
		name, rest := cutToken(s)
		if name == "" {
			return all // malformed header
		}
		after := strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(after, "=") { // a scheme, not a parameter
			all = append(all, challenge{strings.ToLower(name), map[string]string{}})
			s = rest
			continue
		}
		value, rest := cutValue(strings.TrimLeft(after[1:], " \t"))
		if len(all) > 0 {
			params := all[len(all)-1].params
			if name = strings.ToLower(name); params[name] == "" { // the first one wins
				params[name] = value
			}
		}
		s = rest
	}
}

func cutToken(s string) (name, rest string) {
	i := strings.IndexAny(s, " \t,=\"")
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// cutValue cuts a token or a quoted string from s.
func cutValue(s string) (v, rest string) {
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
	return "", "" // unterminated
}
