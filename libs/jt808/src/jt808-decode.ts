#!/usr/bin/env node
import { detectEdition, type Edition, editions } from './edition.ts';
import { formatFrame, formatHeader, formatMessageBody } from './format.ts';
import { FrameSplitter } from './frame-splitter.ts';
import { Reassembler } from './reassembler.ts';

const usage = 'usage: jt808-decode [--edition 2011|2013|2019] HEX...   (or hex on standard input)\n';

/** Prints every frame in the given hex as one JSON line, with parts joined, and the drop counters. */
function decode(hex: string, explicitEdition: Edition | undefined): string[] {
  const lines: string[] = [];
  const splitter = new FrameSplitter();
  const reassembler = new Reassembler({ now: () => 0 });
  splitter.push(Buffer.from(hex, 'hex'), (frame) => {
    const edition = explicitEdition ?? detectEdition(frame);
    lines.push(JSON.stringify(formatFrame(frame, edition)));
    if (frame.subpackage === null) return;
    const outcome = reassembler.push(frame.phone, frame);
    if (outcome.kind !== 'complete') return;
    const { messageId, body } = outcome.message;
    const { message_id, phone } = formatHeader(frame);
    const reassembled = {
      reassembled_length: body.length,
      reassembled_body: formatMessageBody(messageId, body, edition),
    };
    lines.push(JSON.stringify({ message_id, phone, ...reassembled }));
  });
  if (splitter.droppedTotal > 0) lines.push(JSON.stringify({ dropped: splitter.dropped }));
  return lines;
}

async function readStandardInput(): Promise<string> {
  let input = '';
  for await (const chunk of process.stdin) input += String(chunk);
  return input;
}

async function main(args: readonly string[]): Promise<number> {
  const optionIndex = args.indexOf('--edition');
  const edition = editions.find((known) => known === args[optionIndex + 1]);
  const hexArguments =
    optionIndex === -1 ? args : args.filter((_arg, index) => index !== optionIndex && index !== optionIndex + 1);
  const input = hexArguments.length > 0 ? hexArguments.join('') : await readStandardInput();
  const hex = input.replaceAll(/\s|0x/gi, '');
  if ((optionIndex !== -1 && edition === undefined) || !/^([0-9a-f]{2})+$/i.test(hex)) {
    process.stderr.write(usage);
    return 2;
  }
  const lines = decode(hex, optionIndex === -1 ? undefined : edition);
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return lines.length > 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
