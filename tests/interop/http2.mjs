// An HTTP/2 server without TLS: echoes bodies, and says goodbye to a session after so many requests.
// Usage: node http2.mjs REQUESTS. Prints its port. Ends when its standard input does.
import { createServer } from 'node:http2';

const allowed = Number(process.argv[2]);
let connections = 0;

const server = createServer({ settings: { maxConcurrentStreams: 50 } });
server.on('session', (session) => {
  connections++;
  let seen = 0;
  session.on('stream', () => {
    if (++seen === allowed) session.close();
  });
});
server.on('stream', (stream, headers) => {
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('end', () => {
    const path = headers[':path'];
    stream.respond({ ':status': 200 });
    if (path === '/connections') return stream.end(String(connections));
    stream.end(headers[':method'] === 'POST' ? Buffer.concat(chunks) : path);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
