// What sockets of axon and pm2-axon write, byte for byte.
//
// Each capture has sockets of its own on loopback, so the first id of a request is always "77:0".
'use strict';

const net = require('net');
const { once } = require('events');

// Ids begin with the process's number, which must not differ from run to run.
Object.defineProperty(process, 'pid', { value: 77 });

const PACKAGES = { axon: 'axon-rpc', 'pm2-axon': 'pm2-axon-rpc' };

// The length of the frame that `bytes` begins with, or undefined until it is whole.
function frameLength(bytes) {
  let end = 1;
  for (let left = bytes[0] & 15; left > 0; left--) {
    if (bytes.length < end + 4) return undefined;
    end += 4 + bytes.readUInt32BE(end);
  }
  return bytes.length < end ? undefined : end;
}

// Calls `heard` with each whole frame that comes on `connection`.
function frames(connection, heard) {
  let rest = Buffer.alloc(0);
  connection.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let end; rest.length > 0 && (end = frameLength(rest)) !== undefined;) {
      heard(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  });
}

async function listening(accept) {
  const server = net.createServer(accept).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

// The frame that a socket of `role` writes when it is told to by `act`.
async function sent(pkg, role, act) {
  const socket = require(pkg).socket(role);
  let server;
  const frame = new Promise((resolve) => {
    server = listening((connection) => frames(connection, resolve));
  });
  server = await server;
  const inner = socket.sock ?? socket;
  socket.connect(server.address().port, '127.0.0.1');
  await once(inner, 'connect');
  act(socket);
  const hex = (await frame).toString('hex');
  inner.close();
  server.close();
  return hex;
}

// What goes over the wire while a req socket asks a rep socket: `serve` gets the rep socket, and
// `ask` the req socket and what to call with the outcome.
async function exchange(pkg, serve, ask) {
  const axon = require(pkg);
  const rep = axon.socket('rep');
  const bytes = {};
  serve(rep);
  rep.bind(0, '127.0.0.1');
  await once(rep, 'bind');
  const tap = await listening((client) => {
    const server = net.connect(rep.address().port, '127.0.0.1');
    frames(client, (frame) => { bytes.request ??= frame.toString('hex'); });
    frames(server, (frame) => { bytes.reply ??= frame.toString('hex'); });
    client.pipe(server).pipe(client);
  });
  const req = axon.socket('req');
  req.connect(tap.address().port, '127.0.0.1');
  await once(req, 'connect');
  const outcome = await new Promise((resolve) => ask(req, resolve));
  req.close();
  tap.close();
  rep.close();
  return { ...bytes, outcome };
}

// The rows that `capture` gives for both packages: one where they agree, and one for each where not.
async function both(name, capture) {
  const rows = [];
  for (const [pkg, rpc] of Object.entries(PACKAGES)) rows.push([pkg, await capture(pkg, require(rpc))]);
  const [[, axon], [, pm2]] = rows;
  if (JSON.stringify(axon) === JSON.stringify(pm2)) return [{ name, ...axon }];
  return rows.map(([pkg, row]) => ({ name: `${name} (${pkg})`, ...row }));
}

module.exports = { sent, exchange, both };
