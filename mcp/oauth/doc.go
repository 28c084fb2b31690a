// Package oauth gets the access tokens that a client of package mcp needs. A
// [Transport] is an http.RoundTripper for streamable.ClientOptions:
//
//	back, err := oauth.NewLoopback(openBrowser)
//	…
//	t, err := oauth.NewTransport(url, &oauth.Options{
//		Authorize: back.Authorize, Redirect: back.Redirect(), ClientName: "My program",
//	})
//	…
//	c, err := streamable.Connect(ctx, url, &streamable.ClientOptions{Transport: t}, nil)
//
// It sends requests unchanged until the server asks for authorization. Then it
// discovers the authorization server, registers with it if necessary, lets the user
// consent, requests a token, and sends the request again. Where no user is involved,
// a [Grant] gets the token. Tokens are stored by issuer: nothing from one
// authorization server is ever sent to another.
//
// URLs named by a server are not trusted. Requests to them go only to public
// addresses over TLS, unless the server itself is local, and never to link-local
// addresses. A URL that the user visits must be https, or http on this machine, without a
// user name.
package oauth
