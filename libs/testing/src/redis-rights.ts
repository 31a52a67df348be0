import { connect } from 'node:net';
import { sendInlineCommands } from './inline-commands.ts';

/** A user of Redis in its access control list. */
export interface RedisUser {
  readonly name: string;
  readonly password: string;
}

/** Rights that the product needs. */
const productRights = ['~*', '&*', '+@all', '-@admin', '-@dangerous', '+role'] as const;

/** Returns arguments of redis-server for a user with the rights that docs/operations.md states for the product. */
export const formatUserArguments = ({ name, password }: RedisUser): readonly string[] => [
  '--user',
  name,
  'on',
  `>${password}`,
  ...productRights,
];

/** Returns the log of commands that servers refused for want of a right, as text; a killed server has none. */
export async function readRefusals(ports: readonly number[], password?: string): Promise<string> {
  const commands = [...(password === undefined ? [] : [`AUTH ${password}`]), 'ACL LOG'];
  const logs = ports.map((port) =>
    sendInlineCommands((onConnect) => connect({ host: '127.0.0.1', port }, onConnect), commands).catch(() => ''),
  );
  return (await Promise.all(logs)).filter((log) => log.includes('reason')).join('\n');
}
