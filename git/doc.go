// Package git is the only package that runs git.
package git
