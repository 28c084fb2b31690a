// A server of the TypeScript SDK's second edition, on a pipe, or with an argument by
// HTTP: it says on standard output where.
import http from 'node:http';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

function make() {
  const s = new McpServer({ name: 'modern', version: '1.0.0' });
  s.registerTool('add', { description: 'Add two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }));
  s.registerTool('greet', { description: 'Greet by name.', inputSchema: z.object({}) }, async (_, ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'name');
    if (!answer) {
      return inputRequired({ inputRequests: { name: inputRequired.elicit({
        message: 'Who are you?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string', default: 'Ada' } }, required: ['name'] },
      }) } });
    }
    return { content: [{ type: 'text', text: `Hello, ${answer.name}!` }] };
  });
  s.registerTool('slow', { description: 'Take a while.', inputSchema: z.object({ seconds: z.number() }) }, async ({ seconds }, ctx) => {
    for (let i = 1; i <= seconds * 10; i++) {
      await new Promise((r) => setTimeout(r, 100));
      if (ctx.mcpReq.signal.aborted) { console.error('stopped'); return { content: [] }; }
      const token = ctx.mcpReq._meta?.progressToken;
      if (token !== undefined) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: i, total: seconds * 10 } });
      }
    }
    return { content: [{ type: 'text', text: 'done' }] };
  });
  s.registerPrompt('hello', { description: 'Say hello.', argsSchema: z.object({ who: z.string() }) },
    ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${who}` } }] }));
  s.registerResource('note', 'note://1', { mimeType: 'text/plain' }, async (uri) => ({ contents: [{ uri: uri.href, text: 'a note' }] }));
  return s;
}

if (process.argv.length > 2) {
  const handler = createMcpHandler(make);
  const server = http.createServer(async (req, res) => {
    const body = req.method === 'POST' ? await new Promise((done) => { const parts = []; req.on('data', (b) => parts.push(b)).on('end', () => done(Buffer.concat(parts))); }) : undefined;
    const stop = new AbortController();
    res.on('close', () => stop.abort());
    const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, body, signal: stop.signal }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const part of answer.body) res.write(part);
    res.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
} else {
  serveStdio(make);
}
