// Golden vectors: what amp 0.3.1 and amp-message 0.1.2 write for each value and read from each frame,
// and what sockets of axon, pm2-axon and their RPC say to each other. Prints JSON; `vectors.json`
// beside it is what it printed.
'use strict';

const Message = require('amp-message');
const Parser = require('amp').Stream;
const { sent, exchange, both } = require('./capture.cjs');

const typed = (value) => {
  if (value === undefined) return { $undefined: true };
  if (Buffer.isBuffer(value)) return { $buffer: value.toString('hex') };
  return value;
};

const written = Object.entries({
  'a string': ['hello'],
  'an empty string': [''],
  'text beyond ASCII': ['é 😀'],
  'a lone surrogate': ['\ud800'],
  'an integer': [42],
  'a fraction': [1.5],
  'a negative number': [-7],
  'minus zero': [-0],
  'a small number': [1e-7],
  'a large number': [1e21],
  'the largest number': [Number.MAX_VALUE],
  'a number beyond 53 bits': [9007199254740993],
  'not a number': [NaN],
  'infinity': [Infinity],
  'true': [true],
  'false': [false],
  'null': [null],
  'undefined': [undefined],
  'an object': [{ a: 1, b: 'x', c: null }],
  'an empty object': [{}],
  'an object with undefined': [{ a: 1, b: undefined }],
  'an object with numbers for keys': [{ b: 1, 2: 'two', 1: 'one' }],
  'an array': [[1, 'x', null, undefined]],
  'an empty array': [[]],
  'a line separator': [{ a: '\u2028' }],
  'control characters': [{ a: '\0\b\t\n\f\r\x1f\x7f"\\/' }],
  'bytes that are no Buffer': [new Uint8Array([1, 2])],
  'a regular expression': [/x/],
  'a map': [new Map([[1, 2]])],
  'an error': [new Error('lost')],
  'a buffer': [Buffer.from([0, 1, 2])],
  'an empty buffer': [Buffer.alloc(0)],
  'an empty buffer first': [Buffer.alloc(0), 'a'],
  'a buffer in an object': [{ b: Buffer.from([1, 2]) }],
  'an empty buffer in an array': [[Buffer.alloc(0)]],
  'several': ['a', { b: 1 }, Buffer.from([255]), false],
  'fifteen': Array.from({ length: 15 }, (_, n) => n),
}).map(([name, values]) => ({
  name,
  values: values.map(typed),
  frame: new Message(values).toBuffer().toString('hex'),
}));

const read = Object.entries({
  'text that is not UTF-8': '11 00000003 733aff',
  'text that is cut off': '11 00000005 733af09f98',
  'JSON with blanks': '11 00000006 6a3a20312020',
  'JSON of a text, as a date is': '11 0000001c 6a3a22313937302d30312d30315430303a30303a30302e3030305a22',
  'JSON with a byte order mark': '11 00000006 6a3aefbbbf31',
  'JSON that is not UTF-8': '11 00000005 6a3a22ff22',
  'an escaped lone surrogate': '11 0000000a 6a3a225c756438303022',
  'a key that comes twice': '11 0000000f 6a3a7b2261223a312c2261223a327d',
  'version 0': '01 00000003 733a61',
  'version 3': '31 00000003 733a61',
  'version 15': 'f1 00000003 733a61',
  'a buffer like text': '11 00000004 733a6869',
  'a buffer like JSON': '11 00000004 6a3a7b7d',
  'one byte': '11 00000001 73',
  'i: is a buffer': '11 00000003 693a35',
  'empty JSON': '11 00000002 6a3a',
  'no JSON': '11 00000003 6a3a78',
  'JSON with more behind it': '11 00000005 6a3a312032',
  'undefined as JSON': '11 0000000b 6a3a756e646566696e6564',
}).map(([name, hex]) => {
  const frame = hex.replaceAll(' ', '');
  try {
    const values = new Message(Buffer.from(frame, 'hex')).args.map(typed);
    return { name, frame, values };
  } catch {
    return { name, frame, values: null };
  }
});

// Streams as they come in chunks, with the messages that Node's parser makes of them.
const stream = Object.entries({
  'one frame': ['11 00000003 733a61'],
  'two frames in a chunk': ['11 00000003 733a61 12 00000003 733a62 00000001 00'],
  'a frame in two chunks': ['11 00000003 73', '3a61'],
  'a cut inside a length': ['11 0000', '0003 733a61'],
  'a cut behind a length': ['11 00000003', '733a61'],
  'a cut between arguments': ['12 00000003 733a61', '00000003 733a62'],
  'a frame and a half': ['11 00000003 733a61 11 0000', '0003 733a62'],
  'byte by byte': [...'1200000003733a610000000100'.matchAll(/../g)].map(String),
  'an empty argument first': ['12 00000000 00000003 733a61'],
  'an empty argument last, and another frame': ['11 00000000 11 00000003 733a61'],
  'an empty argument last': ['11 00000000'],
}).map(([name, pieces]) => {
  const parser = new Parser();
  const messages = [];
  parser.on('data', (frame) => messages.push(new Message(frame).args.map(typed)));
  const chunks = pieces.map((hex) => hex.replaceAll(' ', ''));
  for (const chunk of chunks) parser.write(Buffer.from(chunk, 'hex'));
  return { name, chunks, messages };
});

const oneWay = {
  push: ['push', 'send', ['job', { n: 1 }]],
  'push of a buffer': ['push', 'send', ['job', Buffer.from([0, 255])]],
  pub: ['pub', 'send', ['topic', { a: 1 }, 'x']],
  'pub-emitter': ['pub-emitter', 'emit', ['user:login', { id: 7 }]],
  'pub-emitter without arguments': ['pub-emitter', 'emit', ['tick']],
};

// Bare requests with what the other end answers them: the reply's own values, the error first.
const bare = {
  'nothing but a result': [['hi'], [null, 'ok']],
  'nothing at all': [['hi'], []],
  'values': [[{ a: 1 }, Buffer.from([1, 2])], [undefined, 0, false, { a: 1 }]],
  'a buffer': [[Buffer.from([9])], [null, Buffer.from([9, 8])]],
  'an error': [['hi'], ['boom']],
  'an Error': [['hi'], [new Error('boom')]],
  'a false error': [['hi'], [false, 1]],
  'no arguments': [[], [null, 1]],
};

// Both packages read a method's parameters from the text of its function.
const methods = {
  add: function (a, b, fn) { fn(null, a + b); },
  echo: function (value, fn) { fn(null, value); },
  fail: function (message, fn) {
    const error = new Error(message);
    error.code = 'ELOST';
    error.stack = 'STACK';
    fn(error);
  },
  failPlain: function (value, fn) { fn(value); },
  many: function (fn) { fn(null, 1, 'two', { three: 3 }, Buffer.from([4])); },
  none: function (fn) { fn(); },
};

const call = (method, ...args) => ({ type: 'call', method, args });
const calls = {
  'one result': call('add', 1, 2),
  'no result': call('none'),
  'null': call('echo', null),
  'undefined': call('echo', undefined),
  'several results': call('many'),
  'a buffer': call('echo', Buffer.from([0, 255])),
  'a nested buffer': call('echo', { a: [Buffer.from([1])] }),
  'an error': call('fail', 'nope'),
  'an error without text': call('fail', ''),
  'a text as error': call('failPlain', 'plain'),
  'a number as error': call('failPlain', 7),
  'an object as error': call('failPlain', { a: 1 }),
  'an unknown method': call('nope'),
  'no method': { type: 'call' },
  'an empty method': call(''),
  'no arguments': { type: 'call', method: 'add' },
  'no type': { method: 'add', args: [1, 2] },
  'another type': { type: 'else', method: 'add', args: [1, 2] },
  'the methods': { type: 'methods' },
};

async function captured() {
  const sockets = [];
  for (const [name, [role, act, values]] of Object.entries(oneWay)) {
    sockets.push(...await both(name, async (pkg) => ({
      values: values.map(typed),
      frame: await sent(pkg, role, (socket) => socket[act](...values)),
    })));
  }
  const replies = [];
  for (const [name, [values, answer]] of Object.entries(bare)) {
    replies.push(...await both(name, (pkg) => exchange(
      pkg,
      (rep) => rep.on('message', (...args) => args.pop()(...answer)),
      (req, ended) => req.send(...values, (...args) => ended(args.map(typed))),
    )));
  }
  const rpc = [];
  for (const [name, message] of Object.entries(calls)) {
    rpc.push(...await both(name, (pkg, { Server }) => exchange(
      pkg,
      (rep) => new Server(rep).expose(methods),
      (req, ended) => req.send(message, ended),
    )));
  }
  // Through the RPC's client, which must write what is written above.
  rpc.push(...await both('a call of the client', (pkg, { Server, Client }) => exchange(
    pkg,
    (rep) => new Server(rep).expose(methods),
    (req, ended) => new Client(req).call('add', 1, 2, (error, sum) => ended({ args: [sum] })),
  )));
  return { sockets, replies, rpc };
}

captured().then((rows) => {
  process.stdout.write(JSON.stringify({ written, read, stream, ...rows }, null, 1) + '\n');
  process.exit(0);
});
