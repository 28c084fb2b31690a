// What both SDKs do with a server, written once. A script hands in a session,
// the few calls whose form differs between the SDKs, and prints what comes back
// as one JSON object; the Go test holds it against what it should be.

export const info = { name: 'bossman-e2e', version: '1.0.0' };

// The client's side of every question a server may ask.
export function answers(log) {
  return {
    elicit(params) {
      log.push(Object.keys(params.requestedSchema?.properties ?? {}).sort().join());
      return { action: 'accept', content: fill(params.requestedSchema) };
    },
    sample() {
      log.push('sampling');
      return { model: 'scripted', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'Paris, says the model' } };
    },
    roots() {
      log.push('roots');
      return { roots: [{ uri: 'file:///srv/project', name: 'project' }] };
    },
  };
}

// Fills a form: a text says ada, a box is ticked, a choice is its first. Fields
// with a default stay empty, and the SDK or the server puts the default in.
function fill(schema) {
  const content = {};
  for (const [name, p] of Object.entries(schema?.properties ?? {})) {
    if ('default' in p) continue;
    if (p.type === 'boolean') content[name] = true;
    else if (p.type === 'number' || p.type === 'integer') content[name] = 1;
    else if (p.type === 'array') content[name] = [p.items.enum?.[0] ?? p.items.anyOf?.[0].const];
    else if (p.enum || p.oneOf) content[name] = p.enum?.[0] ?? p.oneOf[0].const;
    else content[name] = p.format === 'email' ? 'ada@example.com' : 'ada';
  }
  return content;
}

export async function add(s) {
  const { tools } = await s.client.listTools();
  const sum = await s.call('add', { a: 2, b: 3 });
  const bad = await s.call('add', { a: 'two', b: 3 });
  return {
    tools: tools.map(t => t.name),
    structured: sum.structuredContent,
    text: JSON.parse(sum.content[0].text),
    badArguments: bad.isError === true,
    unknownTool: await codeOf(s.call('no_such_tool', {})),
  };
}

// One call, for who only wants to be there at the same time as others.
export async function greet(s) {
  return { text: textOf(await s.call('greet', { name: 'ada' })) };
}

// Everything that reads the same in every revision.
export async function features(s) {
  const { client, call } = s;
  const out = {};

  const { tools } = await client.listTools();
  out.toolsWithoutDescription = tools.filter(t => !t.description).map(t => t.name);
  out.simpleText = textOf(await call('test_simple_text', {}));
  out.image = (await call('test_image_content', {})).content.map(binary);
  out.audio = (await call('test_audio_content', {})).content.map(binary);
  out.embedded = (await call('test_embedded_resource', {})).content;
  out.mixed = (await call('test_multiple_content_types', {})).content.map(c => (c.data ? binary(c) : c));
  const failed = await call('test_error_handling', {});
  out.toolError = { isError: failed.isError, text: textOf(failed) };
  out.unknownTool = await codeOf(call('no_such_tool', {}));

  // Types of every kind: the SDKs check results against the tool's schema.
  const every = {
    text: 'abc', mail: 'ada@example.com', steps: 7.0, small: -3, count: 5, maybe: null, pair: [1, 2], map: { a: 1 }, ports: { 80: 'http' },
    when: '2026-07-28T01:02:03Z', wait: 1000, addr: '::1', big: 12345678901, number: 1.5, data: 'aGk=', quoted: '12',
    any: { a: [null] }, raw: [1], inner: { x: 1 }, part: 'p', point: { name: 'a' }, long: -9007199254740991, wide: 9007199254740991,
    single: 1.5, own: -1.5, sizes: ['s', 'l'], places: [{ name: 'b' }], byName: { c: { name: 'd' } }, bySize: { l: { name: 'e' } },
    matrix: [[1, 2.5], []], hash: [1, 2, 3, 4],
  };
  out.types = (await call('test_types', { ...every, tree: [{ text: 'leaf', maybe: 1 }] })).structuredContent;
  out.any = textOf(await call('test_any', { a: 1 }));
  out.list = textOf(await call('test_list', {}));
  const output = await call('test_output', {});
  out.output = [output.structuredContent, output.content.map(binary), output._meta?.['com.example/k']];

  // SDK v2 drops a progress notification that arrives in one read with the
  // answer, so the last is left out here; the Go test finds it in the record.
  const progress = [];
  await call('test_tool_with_progress', {}, { onprogress: p => progress.push([p.progress, p.total]) });
  out.progress = progress.slice(0, 2);

  out.resources = (await client.listResources()).resources.map(r => r.uri).sort();
  out.templates = (await client.listResourceTemplates()).resourceTemplates.map(r => r.uriTemplate);
  out.readText = (await client.readResource({ uri: 'test://static-text' })).contents.map(c => [c.uri, c.text]);
  out.readBinary = (await client.readResource({ uri: 'test://static-binary' })).contents.map(c => binary({ ...c, data: c.blob }));
  out.readTemplate = (await client.readResource({ uri: 'test://template/123/data' })).contents.map(c => JSON.parse(c.text));
  out.readUnknown = typeof (await codeOf(client.readResource({ uri: 'test://no-such-resource' }))) === 'number';

  // Another client of the same process may just make a prompt come and go.
  out.prompts = (await client.listPrompts()).prompts.map(p => p.name).filter(n => n !== 'test_passing_prompt').sort();
  out.promptSimple = await prompt(client, 'test_simple_prompt');
  out.promptArguments = await prompt(client, 'test_prompt_with_arguments', { arg1: 'hello', arg2: 'world' });
  out.promptResource = await prompt(client, 'test_prompt_with_embedded_resource', { resourceUri: 'test://example-resource' });
  out.promptImage = await prompt(client, 'test_prompt_with_image');

  const complete = await client.complete({
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    argument: { name: 'arg1', value: 'par' },
  });
  out.completion = Array.isArray(complete.completion.values);

  // Cancelled once the server has begun with it. That it never answers, the Go test
  // reads in the record.
  const stop = new AbortController();
  let slow;
  await new Promise(begun => {
    const options = { signal: stop.signal, onprogress: begun };
    slow = call('slow_compute', { seconds: 60 }, options).then(() => 'answered', () => 'gave up');
  });
  stop.abort('enough');
  out.cancelled = await slow;
  out.afterCancel = textOf(await call('greet', { name: 'ada' }));
  return out;
}

// The tools that ask the person in front of the client. On a pipe before
// 2026-07-28 the server sends requests; since then the client is told what is
// missing and calls again. The outcome is the same.
export async function asking(s) {
  const out = {};
  for (const kind of ['elicitation', 'sampling', 'list_roots', 'request_state', 'multiple_inputs', 'multi_round']) {
    s.asked.length = 0;
    const result = await s.call(`test_input_required_result_${kind}`, {});
    out[kind] = { asked: kinds(s.asked), isError: result.isError === true };
    if (kind === 'elicitation') out[kind].text = textOf(result);
    if (kind === 'request_state') out[kind].stateOk = textOf(result).includes('state-ok');
  }
  s.asked.length = 0;
  const got = await s.client.getPrompt({ name: 'test_input_required_result_prompt' });
  out.prompt = { asked: kinds(s.asked), messages: got.messages.length > 0 };
  return out;
}

// What was asked for, whatever a form's fields are called.
export const kinds = asked => asked.map(a => (a === 'sampling' || a === 'roots' ? a : 'form')).sort();

// What only a connection with a handshake has.
export async function handshake(s) {
  const { client, call, asked, logged } = s;
  const out = {};
  await client.ping();
  out.ping = true;

  await client.setLoggingLevel('info');
  const texts = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
  const heard = () => logged.map(p => texts.findIndex(t => JSON.stringify(p.data).includes(t))).filter(i => i >= 0);
  await call('test_tool_with_logging', {});
  await until(() => heard().length >= texts.length, 'third log message');
  out.logging = heard();

  asked.length = 0;
  const sampled = textOf(await call('test_sampling', { prompt: 'Capital of France?' }));
  out.sampling = { asked: [...asked], begin: sampled.slice(0, 13), answer: sampled.includes('Paris, says the model') };

  asked.length = 0;
  const elicited = textOf(await call('test_elicitation', { message: 'Who are you?' }));
  out.elicitation = { asked: [...asked], begin: elicited.slice(0, 14), answer: elicited.includes('ada@example.com') };

  asked.length = 0;
  const defaults = textOf(await call('test_elicitation_sep1034_defaults', {}));
  out.defaults = { asked: [...asked], accepted: defaults.startsWith('Elicitation completed: action=accept') };

  asked.length = 0;
  const enums = textOf(await call('test_elicitation_sep1330_enums', {}));
  out.enums = { asked: [...asked], accepted: enums.startsWith('Elicitation completed: action=accept') };

  await client.subscribeResource({ uri: 'test://watched-resource' });
  await client.unsubscribeResource({ uri: 'test://watched-resource' });
  out.subscribe = true;
  return out;
}

export const textOf = result => result.content.filter(c => c.type === 'text').map(c => c.text).join('\n');

export const codeOf = promise => promise.then(r => `no error but ${JSON.stringify(r)}`, e => e.code ?? String(e));

// A server is an address or a command, and a session over HTTP is ended by its
// client.
export const isURL = server => /^https?:/.test(server);

export async function end(s) {
  if (s.transport.sessionId) await s.transport.terminateSession();
  await s.client.close();
}

// Waits for what arrives beside the answer to a call, not in it.
export async function until(done, what) {
  const end = Date.now() + 10_000;
  while (!done()) {
    if (Date.now() > end) throw new Error(`no ${what} in 10 s`);
    await new Promise(r => setTimeout(r, 10));
  }
}

async function prompt(client, name, args) {
  const { messages } = await client.getPrompt({ name, arguments: args });
  return messages.map(({ content: c }) => c.text ?? (c.resource ? [c.resource.uri, c.resource.text] : binary(c)));
}

// A block of bytes by its type and how it begins.
const binary = c => [c.mimeType, Buffer.from(c.data, 'base64').subarray(0, 4).toString('latin1').replace(/[^ -~]/g, '?')];
