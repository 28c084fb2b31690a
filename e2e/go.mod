module github.com/bossman-dev/bossman/e2e

go 1.26

// npm packages carry Go files of their own now and then.
ignore node_modules

replace github.com/bossman-dev/bossman => ..
