// A peer of axon or pm2-axon, driven by lines of JSON.
//
//   node peer.cjs ROLE PACKAGE bind|connect ENDPOINT
//
// ROLE is rpc-server, rpc-client, rep, req, push, pull, pub, sub, pub-emitter or sub-emitter.
//
// Writes {"ready":PORT} once it listens or is connected (the port is null for a Unix socket), then an
// answer for each line that it reads. Ends with its standard input. Values travel as JSON, with
// {"$buffer":"hex"} for a buffer and {"$undefined":true} for undefined.
//
// Of every role: {"drop":true} ends its connections, {"pause":true} stops reading from them, and
// {"resume":true} goes on; each answers with their number, and so does {"peers":true}.
'use strict';

const net = require('net');

const [role, pkg, how, endpoint] = process.argv.slice(2);
const axon = require(pkg);
const rpc = require(pkg === 'axon' ? 'axon-rpc' : 'pm2-axon-rpc');

const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');

function pack(value) {
  if (value === undefined) return { $undefined: true };
  if (Buffer.isBuffer(value)) return { $buffer: value.toString('hex') };
  if (Array.isArray(value)) return value.map(pack);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, pack(inner)]));
  }
  return value;
}

function unpack(value) {
  if (Array.isArray(value)) return value.map(unpack);
  if (value && typeof value === 'object') {
    if (value.$undefined) return undefined;
    if (value.$buffer !== undefined) return Buffer.from(value.$buffer, 'hex');
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unpack(inner)]));
  }
  return value;
}

// pm2-axon adds the connection behind the arguments of what was published.
const own = (args) => args.filter((arg) => !(arg instanceof net.Socket));

// Both packages read a method's parameters from the text of its function.
const methods = {
  add: function (a, b, fn) { fn(null, a + b); },
  count: function (n, fn) { fn(null, n + 1); },
  echo: function (value, fn) { fn(null, value); },
  kind: function (value, fn) {
    fn(null, Buffer.isBuffer(value) ? 'buffer' : Array.isArray(value) ? 'array' : typeof value);
  },
  fail: function (message, fn) { fn(new Error(message)); },
  fail_plain: function (value, fn) { fn(value); },
  many: function (fn) { fn(null, 1, 'two', { three: 3 }, Buffer.from([4])); },
  nested: function (fn) { fn(null, { a: [Buffer.from([0, 255]), { b: Buffer.alloc(0) }] }); },
  none: function (fn) { fn(); },
  slow: function (milliseconds, fn) { setTimeout(fn, milliseconds, null, milliseconds); },
  silent: function (fn) { void fn; },
};

const commands = {
  'rpc-server': (socket) => {
    new rpc.Server(socket).expose(methods);
  },
  'rpc-client': (socket) => {
    const client = new rpc.Client(socket);
    const ended = (error, ...results) => say(
      error ? { error: String(error.message ?? error) } : { results: results.map(pack) });
    return {
      call: ({ call, args }) => client.call(call, ...args.map(unpack), ended),
      methods: () => client.methods((error, list) => ended(error, list)),
      // As many calls at once as asked for; answers how many got the right result.
      burst: ({ burst }) => {
        let left = burst;
        let right = 0;
        for (let n = 0; n < burst; n++) {
          client.call('count', n, (error, result) => {
            right += !error && result === n + 1 ? 1 : 0;
            if (--left === 0) say({ results: [right] });
          });
        }
      },
    };
  },
  rep: (socket) => {
    socket.on('message', (...args) => {
      const reply = args.pop();
      reply(null, ...args);
    });
  },
  push: (socket) => ({
    send: ({ send }) => {
      socket.send(...send.map(unpack));
      say({ sent: true });
    },
  }),
  pull: (socket) => {
    socket.on('message', (...args) => say({ message: args.map(pack) }));
  },
  pub: (socket) => ({
    send: ({ send }) => {
      socket.send(...send.map(unpack));
      say({ sent: true });
    },
  }),
  sub: (socket) => {
    socket.subscribe('user:*');
    socket.on('message', (...args) => say({ message: own(args).map(pack) }));
  },
  'pub-emitter': (socket) => ({
    send: ({ send }) => {
      socket.emit(...send.map(unpack));
      say({ sent: true });
    },
  }),
  'sub-emitter': (socket) => {
    socket.on('user:*', (...args) => say({ message: own(args).map(pack) }));
  },
  req: (socket) => ({
    send: ({ send }) => socket.send(...send.map(unpack), (error, ...results) => say(
      { error: pack(error), results: results.map(pack) })),
  }),
};

const socket = axon.socket({ 'rpc-server': 'rep', 'rpc-client': 'req' }[role] ?? role);
const inner = socket.sock ?? socket;
inner.on('error', (error) => say({ failed: String(error) }));
const each = (act) => () => {
  const connections = [...inner.socks];
  connections.forEach(act);
  say({ peers: connections.length });
};
const handlers = {
  peers: each(() => {}),
  drop: each((connection) => connection.destroy()),
  pause: each((connection) => connection.pause()),
  resume: each((connection) => connection.resume()),
  ...commands[role](socket),
};

// Not their callbacks: on Unix sockets those never come.
inner.once(how, () => {
  const address = how === 'bind' ? (inner.address() ?? {}) : {};
  say({ ready: address.port ?? null });
});
socket[how](/^\d+$/.test(endpoint) ? Number(endpoint) : endpoint);

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const command = JSON.parse(line);
    handlers[Object.keys(command).find((name) => handlers[name])](command);
  }
});
process.stdin.on('end', () => process.exit(0));
