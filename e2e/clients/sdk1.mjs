// The TypeScript SDK v1: node sdk1.mjs add|features|greet URL|COMMAND [ARG...]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import * as steps from './steps.mjs';

const [suite, command, ...args] = process.argv.slice(2);

const asked = [], logged = [];
const client = new Client(steps.info, {
  capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
});
const answer = steps.answers(asked);
client.setRequestHandler(ElicitRequestSchema, r => answer.elicit(r.params));
client.setRequestHandler(CreateMessageRequestSchema, () => answer.sample());
client.setRequestHandler(ListRootsRequestSchema, () => answer.roots());
client.setNotificationHandler(LoggingMessageNotificationSchema, n => void logged.push(n.params));

const transport = steps.isURL(command) ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args });
await client.connect(transport);
const session = {
  client, transport, asked, logged,
  call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
};
const out = {};
if (suite === 'add') {
  out.add = await steps.add(session);
} else if (suite === 'greet') {
  out.greet = await steps.greet(session);
} else {
  out.features = await steps.features(session);
  out.handshake = await steps.handshake(session);
  out.asking = await steps.asking(session);
}
await steps.end(session);
console.log(JSON.stringify(out));
