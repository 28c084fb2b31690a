package streamable

import (
	"math"
	"mime"
	"strconv"
	"strings"
)

// isJSON reports whether a content type is JSON in UTF-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" {
		return false
	}
	for name, v := range params {
		if name == "charset" && !strings.EqualFold(v, "utf-8") {
			return false
		}
	}
	return true
}

func isIdentity(encodings []string) bool {
	for _, e := range encodings {
		if !strings.EqualFold(strings.TrimSpace(e), "identity") {
			return false
		}
	}
	return true
}

// acceptsBoth reports whether a client accepts both forms of a response.
func acceptsBoth(accept []string) bool {
	if len(accept) == 1 && accept[0] == "application/json, text/event-stream" { // the common case
		return true
	}
	return accepts(accept, "application/json") && accepts(accept, "text/event-stream")
}

// accepts reports whether a client accepts a content type. Without a header it
// accepts all.
func accepts(accept []string, kind string) bool {
	group, _, _ := strings.Cut(kind, "/")
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.TrimSpace(name)
			if (strings.EqualFold(name, kind) || name == "*/*" || strings.EqualFold(name, group+"/*")) && !isZeroQuality(params) {
				return true
			}
		}
	}
	return len(accept) == 0
}

func isZeroQuality(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, v, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(v, 64)
		return err != nil || q == 0 || math.IsNaN(q)
	}
	return false
}
