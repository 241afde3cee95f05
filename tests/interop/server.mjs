// An HTTP/1.1 server as most people run it: echoes bodies, and what comes after an upgrade, and says
// how many connections it saw.
// Usage: node server.mjs KEEP_ALIVE_MS HINT, where HINT is "hint" or "no-hint": whether responses
// carry `Keep-Alive: timeout=…`. Prints its port. Ends when its standard input does.
import { createServer } from 'node:http';

const [keepAlive, hint] = process.argv.slice(2);
let connections = 0;
const ids = [];

const server = createServer((request, response) => {
  // Node 20 closes a second after what it announces. The tests want the bare limit, as before.
  response.on('finish', () => request.socket.setTimeout(server.keepAliveTimeout));
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    // Node leaves out its Keep-Alive header when the program sets Connection itself.
    if (hint === 'no-hint') response.setHeader('connection', 'keep-alive');
    if (request.url === '/id') ids.push(request.headers['x-id']);
    if (request.url === '/ids') return response.end(ids.join('\n'));
    if (request.url === '/connections') return response.end(String(connections));
    const body = Buffer.concat(chunks);
    response.setHeader('content-type', 'application/octet-stream');
    if (request.url === '/chunked') {
      for (let at = 0; at < body.length; at += 100) response.write(body.subarray(at, at + 100));
      return response.end();
    }
    response.end(request.method === 'POST' ? body : request.url);
  });
});
server.on('upgrade', (request, socket, head) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
  socket.write(head);
  socket.pipe(socket);
});
server.keepAliveTimeout = Number(keepAlive);
server.on('connection', () => connections++);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
