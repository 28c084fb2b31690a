// Package egress sends HTTP requests to URLs that others name: a server's metadata, or the
// receiver of a notification.
//
//	URL ──► Check: https, no user ──► resolve the name ──► control: the address is public
//	                                                            │
//	            redirect of a GET: from the top ◄───────────────┴──► connect
//
// The address is checked when the connection is made, so a name that resolves to another
// address the second time leads nowhere. No proxy is used, since it would resolve names
// itself.
package egress
