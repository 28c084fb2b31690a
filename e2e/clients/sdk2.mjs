// The TypeScript SDK v2: node sdk2.mjs add|features|tasks|greet legacy|auto|pin URL|COMMAND [ARG...]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as steps from './steps.mjs';
import { tasks } from './tasks.mjs';

const [suite, mode, command, ...args] = process.argv.slice(2);

const asked = [], logged = [], changed = [];
const answer = steps.answers(asked);
const extensions = suite === 'tasks' ? { 'io.modelcontextprotocol/tasks': {} } : {};
const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {}, extensions };

// Connect makes a client that can answer questions, or, bare, one that declares
// nothing. On a pipe it starts a server of its own for it.
async function connect(bare) {
  const client = new Client(steps.info, {
    capabilities: bare ? {} : capabilities,
    versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode },
  });
  if (!bare) {
    client.setRequestHandler('elicitation/create', r => answer.elicit(r.params));
    client.setRequestHandler('sampling/createMessage', () => answer.sample());
    client.setRequestHandler('roots/list', () => answer.roots());
  }
  client.setNotificationHandler('notifications/message', n => void logged.push(n.params));
  const transport = steps.isURL(command) ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args });
  await client.connect(transport);
  return { client, transport, asked, logged, call: (name, args, options) => client.callTool({ name, arguments: args }, options) };
}

// What only 2026-07-28 has.
async function stateless(s) {
  const out = {};
  // A client that does not ask for logs gets none; one that does, does.
  logged.length = 0;
  await s.call('test_logging_tool', {});
  out.logsUnasked = logged.length;
  await s.client.callTool({ name: 'test_logging_tool', arguments: {}, _meta: { 'io.modelcontextprotocol/logLevel': 'info' } });
  await steps.until(() => logged.length > 0, 'log message');
  out.logsAsked = true;

  for (const kind of ['tools', 'prompts']) {
    s.client.setNotificationHandler(`notifications/${kind}/list_changed`, () => void changed.push(kind));
  }
  const listen = await s.client.listen({ toolsListChanged: true, promptsListChanged: true });
  out.honored = listen.honoredFilter;
  await s.call('test_trigger_tool_change', {});
  await steps.until(() => changed.includes('tools'), 'tools/list_changed');
  await s.call('test_trigger_prompt_change', {});
  await steps.until(() => changed.includes('prompts'), 'prompts/list_changed');
  out.changed = [...new Set(changed)].sort();
  await listen.close();
  out.closed = await listen.closed;

  const bare = await connect(true);
  out.missingCapability = await steps.codeOf(bare.call('test_missing_capability', {}));
  await steps.end(bare);
  return out;
}

const s = await connect(false);
const out = { negotiated: s.client.getNegotiatedProtocolVersion(), era: s.client.getProtocolEra() };
if (suite === 'add') {
  out.add = await steps.add(s);
} else if (suite === 'greet') {
  out.greet = await steps.greet(s);
} else if (suite === 'tasks') {
  out.tasks = await tasks(s, { clientInfo: steps.info, clientCapabilities: capabilities, answer });
} else {
  out.features = await steps.features(s);
  out.asking = await steps.asking(s);
  if (out.era === 'modern') out.stateless = await stateless(s);
  else out.handshake = await steps.handshake(s);
}
await steps.end(s);
console.log(JSON.stringify(out));
