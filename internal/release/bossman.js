#!/usr/bin/env node
// Starts the program, which is in the package for this system.
"use strict";

const { spawn } = require("node:child_process");

const name = `@bossman-dev/bossman-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/bossman${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`bossman: the package ${name} is not installed. Install @bossman-dev/bossman again, with optional dependencies; if there is no such package, there is no release for this system.`);
  process.exit(1);
}

// These are set before the program starts, so that no signal is lost. A terminal sends Ctrl-C to both processes; the
// program decides what it means.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`bossman: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
