package server

import "net/http"

// A route is a path that is served, besides the pages of the site. Every other path is not found.
type route struct {
	path string
	// open routes need no key.
	open  bool
	serve http.Handler
}

// ServeHTTP serves a request by its route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, route := range s.routes {
		if route.path == r.URL.Path {
			route.serve.ServeHTTP(w, r)
			return
		}
	}
	if s.site.Serves(r) {
		s.site.ServeHTTP(w, r)
		return
	}
	s.notFound.ServeHTTP(w, r)
}

// anyHost serves requests with any Host, since a load balancer knows this replica by its
// address. A browser's request for a web page must have our name, and the page too.
func (s *Server) anyHost(serve http.HandlerFunc) http.Handler {
	guarded := s.handler.Guard(serve)
	return readOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isBrowser(r) {
			guarded.ServeHTTP(w, r)
			return
		}
		serve(w, r)
	}))
}

// isBrowser reports whether a browser sent the request on behalf of a page.
func isBrowser(r *http.Request) bool {
	return r.Header["Origin"] != nil || r.Header["Sec-Fetch-Site"] != nil
}

// readOnly refuses all methods but GET and HEAD.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}
