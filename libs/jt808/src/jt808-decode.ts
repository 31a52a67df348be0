#!/usr/bin/env node
import { describeFrame, describeHeader, describeMessageBody } from './describe.ts';
import { detectEdition, EDITIONS, type Edition } from './edition.ts';
import { FrameSplitter } from './frame-splitter.ts';
import { Reassembler } from './reassembler.ts';

const USAGE = 'usage: jt808-decode [--edition 2011|2013|2019] HEX...   (or hex on standard input)\n';

/** Prints every frame in some hex as one JSON line, parts joined, and what was dropped. */
function decode(hex: string, stated: Edition | undefined): string[] {
  const lines: string[] = [];
  const splitter = new FrameSplitter();
  const reassembler = new Reassembler({ now: () => 0 });
  splitter.push(Buffer.from(hex, 'hex'), (frame) => {
    const edition = stated ?? detectEdition(frame);
    lines.push(JSON.stringify(describeFrame(frame, edition)));
    if (frame.subpackage === null) return;
    const outcome = reassembler.push(frame.phone, frame);
    if (outcome.kind !== 'complete') return;
    const { messageId, body } = outcome.message;
    const { message_id, phone } = describeHeader(frame);
    const joined = { reassembled_length: body.length, reassembled_body: describeMessageBody(messageId, body, edition) };
    lines.push(JSON.stringify({ message_id, phone, ...joined }));
  });
  if (splitter.droppedTotal > 0) lines.push(JSON.stringify({ dropped: splitter.dropped }));
  return lines;
}

async function standardInput(): Promise<string> {
  let input = '';
  for await (const chunk of process.stdin) input += String(chunk);
  return input;
}

async function main(args: readonly string[]): Promise<number> {
  const at = args.indexOf('--edition');
  const edition = EDITIONS.find((known) => known === args[at + 1]);
  const rest = at === -1 ? args : args.filter((_arg, index) => index !== at && index !== at + 1);
  const given = rest.length > 0 ? rest.join('') : await standardInput();
  const hex = given.replaceAll(/\s|0x/gi, '');
  if ((at !== -1 && edition === undefined) || !/^([0-9a-f]{2})+$/i.test(hex)) {
    process.stderr.write(USAGE);
    return 2;
  }
  const lines = decode(hex, at === -1 ? undefined : edition);
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return lines.length > 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
