package streamable

import (
	"net/http"

	"github.com/bossman-dev/bossman/mcp"
)

// header returns the value of a header with a canonical name. Header.Get would
// canonicalize it for every request.
func header(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// headers is an http.Header that finds canonical names without canonicalizing
// them.
type headers http.Header

func (h headers) Values(name string) []string {
	if values, ok := h[name]; ok {
		return values
	}
	return http.Header(h).Values(name)
}

// versionOf returns the revision that a request's header names. It returns
// false if there is none or it is unknown.
func versionOf(r *http.Request) (mcp.Revision, bool) {
	return mcp.ParseRevision(header(r, "Mcp-Protocol-Version"))
}
