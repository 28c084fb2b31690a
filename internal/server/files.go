package server

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/bossman-dev/bossman/telemetry"
)

// Files are the files that a server has open, and opens again on SIGHUP.
type Files struct {
	Audit       *telemetry.AuditFile // nil if there is none
	Certificate *Certificate         // nil if there is none

	log    *slog.Logger
	hangup chan os.Signal
	done   chan struct{}
}

// OpenFiles opens a certificate with its key, and the audit stream; either may be empty. From now on SIGHUP does not end the
// process. The caller must call Close.
func OpenFiles(log *slog.Logger, certFile, keyFile, audit string) (_ *Files, err error) {
	f := &Files{log: log, hangup: make(chan os.Signal, 1), done: make(chan struct{})}
	if certFile != "" {
		if f.Certificate, err = ReadCertificate(certFile, keyFile); err != nil {
			return nil, err
		}
	}
	if audit != "" {
		if f.Audit, err = telemetry.OpenAudit(audit); err != nil {
			return nil, err
		}
		f.tellHead("the audit stream begins after this line")
	}
	signal.Notify(f.hangup, syscall.SIGHUP)
	go f.run()
	return f, nil
}

// Telemetry returns the options of a server's telemetry, with its audit stream.
func (f *Files) Telemetry(version string) *telemetry.Options {
	o := &telemetry.Options{Logger: f.log, Version: version, Who: Who}
	if f.Audit != nil {
		o.Audit = f.Audit
	}
	return o
}

func (f *Files) run() {
	defer close(f.done)
	for range f.hangup {
		f.reload()
	}
}

// reload opens the audit stream again and reads the certificate. What fails goes on as it was.
func (f *Files) reload() {
	if f.Certificate != nil {
		if err := f.Certificate.Reload(); err != nil {
			f.log.Error("SIGHUP: the certificate cannot be read, and the old one stays in use", telemetry.KeyErr, err)
		}
	}
	if f.Audit != nil {
		if err := f.Audit.Reopen(); err != nil {
			f.log.Error("SIGHUP: the audit file cannot be opened, and the old one stays in use", telemetry.KeyErr, err)
		}
		f.tellHead("SIGHUP: the audit stream goes on after this line")
	}
	f.log.Info("SIGHUP: reloaded")
}

// tellHead logs the hash of the audit stream's last line. Logs are usually kept elsewhere, so that it shows if the end of
// the stream is cut off later.
func (f *Files) tellHead(text string) { f.log.Info(text, "head", f.Audit.Head()) }

// Close ends it, after the last line of the audit stream was written.
func (f *Files) Close() {
	signal.Stop(f.hangup)
	close(f.hangup)
	<-f.done
	if f.Audit != nil {
		f.tellHead("the audit stream ends with this line")
	}
}
