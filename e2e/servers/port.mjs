// Loaded before a server that prints no address: says where it listens once it does, so that
// it can be given port 0.
import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  this.once("listening", () => console.error(`http://127.0.0.1:${this.address().port}/mcp`));
  return listen.apply(this, args);
};
