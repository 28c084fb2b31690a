// Tools that become tasks, through the extension's own client library.
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { codeOf, kinds, textOf } from './steps.mjs';

export async function tasks(s, { clientInfo, clientCapabilities, answer }) {
  const session = createTaskSessionFromClient(s.client, {
    endpointId: 'bossman',
    rawDispatch: below(s.transport),
    v2RequestFraming: { protocolVersion: s.client.getNegotiatedProtocolVersion(), clientInfo, clientCapabilities },
    onInputRequest: async ({ kind, params }) =>
      kind === 'elicitation' ? answer.elicit(params) : kind === 'sampling' ? answer.sample() : answer.roots(),
  });
  const run = async (name, args) => {
    s.asked.length = 0;
    const execution = await session.callTool(name, args);
    const seen = { kind: execution.kind };
    const { outcome } = await execution.settle();
    seen.status = outcome.status;
    if (s.asked.length > 0) seen.asked = kinds(s.asked);
    if (outcome.status === 'completed') seen.isError = outcome.result.isError === true;
    return { seen, outcome };
  };

  const out = {};
  const greet = await run('greet', { name: 'ada' });
  out.greet = { ...greet.seen, text: textOf(greet.outcome.result) };
  out.slow = (await run('slow_compute', { seconds: 1 })).seen;
  out.failing = (await run('failing_job', {})).seen;
  out.protocolError = (await run('protocol_error_job', {})).seen;
  out.confirm = (await run('confirm_delete', { filename: 'notes.txt' })).seen;
  out.multi = (await run('multi_input', {})).seen;
  const both = await run('test_tool_with_task', {});
  out.askThenTask = { ...both.seen, named: textOf(both.outcome.result).includes('ada') };

  const long = await session.callTool('slow_compute', { seconds: 60 });
  await long.cancel();
  out.cancelled = (await long.settle()).outcome.status;

  await session.close();
  out.unknownTask = await codeOf(dispatchOne(s, { clientInfo, clientCapabilities }));
  return out;
}

async function dispatchOne(s, { clientInfo, clientCapabilities }) {
  const answer = await below(s.transport)({
    method: 'tasks/get',
    params: {
      taskId: 'no-such-task',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': s.client.getNegotiatedProtocolVersion(),
        'io.modelcontextprotocol/clientInfo': clientInfo,
        'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
      },
    },
  });
  if (answer.kind === 'error') throw answer.error;
  return answer.result;
}

let next = 0;

// Below sends requests under the SDK, whose own codec has no tasks, and takes
// the answers off the transport before the SDK sees them.
function below(transport) {
  const waiting = new Map();
  const above = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const settle = waiting.get(message.id);
    if (message.method !== undefined || settle === undefined) return above?.(message, extra);
    waiting.delete(message.id);
    settle(message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result });
  };
  return request => {
    const id = `task:${++next}`;
    return new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      transport.send({ jsonrpc: '2.0', ...request, id }).catch(reject);
    });
  };
}
