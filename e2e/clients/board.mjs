// A TypeScript SDK plans, works, asks and reports on a board:
// node board.mjs v1|legacy|auto|pin URL|COMMAND [ARG...]
//
// v1 is SDK v1, the others are how SDK v2 chooses a revision. A key for an address is
// in BOSSMAN_E2E_KEY.
import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HTTP1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import * as v2 from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import * as steps from './steps.mjs';

const [mode, command, ...args] = process.argv.slice(2);
const first = mode === 'v1';

const asked = [];
const elicit = r => {
  asked.push(r.params.message);
  return { action: 'accept', content: { answer: 'green' } };
};
const capabilities = { elicitation: { form: {} } };
const client = first
  ? new v1.Client(steps.info, { capabilities })
  : new v2.Client(steps.info, { capabilities, versionNegotiation: { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode } });
client.setRequestHandler(first ? ElicitRequestSchema : 'elicitation/create', elicit);

const [Stdio, HTTP] = first ? [Stdio1, HTTP1] : [Stdio2, v2.StreamableHTTPClientTransport];
const transport = steps.isURL(command)
  ? new HTTP(new URL(command), { requestInit: { headers: { 'X-Api-Token': process.env.BOSSMAN_E2E_KEY } } })
  : new Stdio({ command, args, env: process.env });
await client.connect(transport);

const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${steps.textOf(result)}`);
  return { text: steps.textOf(result), facts: result._meta?.['dev.bossman/result'] };
};

const out = { asked };
out.tools = (await client.listTools()).tools.map(t => t.name).sort();
await call('create_plan', { tasks: [{ key: 'a', title: 'Make the tables' }, { key: 'b', title: 'Add a login page', after: 'a' }] });
const given = await call('get_next_task', {});
out.handout = given.text;
const { claim, worker } = given.facts.claim;
out.again = (await call('get_next_task', { worker })).facts.outcome;
out.progress = (await call('report_progress', { claim, note: 'two of three tables' })).text;
out.answer = (await call('ask_question', { claim, question: 'Which colour?', wait_seconds: 30 })).text;
out.done = (await call('report_task_done', { claim, summary: 'three tables' })).text;
const next = await call('get_next_task', { worker });
out.next = next.text;
out.done2 = (await call('report_task_done', { claim: next.facts.claim.claim, summary: 'a page' })).text;
out.nothing = (await call('get_next_task', { worker })).text;
await steps.end({ client, transport });
console.log(JSON.stringify(out));
