// Package oauth brings a client of package mcp the tokens that a server wants.
//
// A Transport is an http.RoundTripper for streamable.ClientOptions. It sends
// requests as they come until the server says that it wants to know who asks.
// Then it finds the server's authorization server, becomes known to it, asks for a
// token, and sends the request again:
//
//	401, or 403 with more scopes
//	   │
//	   ▼
//	discovery.go     what protects the server, and which authorization server may
//	   │             give tokens for it
//	   ▼
//	register.go      who we are there: known before, a document that describes us,
//	   │             or registered now
//	   ▼
//	authorize.go     the person agrees        grant.go   or nobody has to
//	   │                                          │
//	   └───────────────► token.go ◄───────────────┘
//	                        │
//	                        ▼
//	                     store.go    kept by issuer: nothing that one authorization
//	                                 server gave is ever shown to another
//
// Addresses that a server names are not trusted: requests to them go only to
// public addresses over TLS, unless the server itself is on this machine, and never
// to link-local ones. What a person is to visit must pass [mcp.CheckURL] as well.
package oauth
