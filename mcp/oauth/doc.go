// Package oauth gets the access tokens that a client of package mcp needs.
//
// A [Transport] is an http.RoundTripper for streamable.ClientOptions. It sends
// requests unchanged until the server asks for authorization. Then it discovers the
// authorization server, registers with it if necessary, requests a token, and sends
// the request again:
//
//	401, or 403 with more scopes
//	   │
//	   ▼
//	discovery.go     metadata of the server and of its authorization server
//	   │
//	   ▼
//	register.go      the client id: configured, a metadata document, or dynamic
//	   │             registration
//	   ▼
//	authorize.go     the user consents       grant.go   or no user is involved
//	   │                                         │
//	   └───────────────► token.go ◄──────────────┘
//	                        │
//	                        ▼
//	                     store.go    stored by issuer: nothing from one authorization
//	                                 server is ever sent to another
//
// URLs named by a server are not trusted. Requests to them go only to public
// addresses over TLS, unless the server itself is local, and never to link-local
// addresses. A URL that the user visits must also pass [mcp.CheckURL].
package oauth
