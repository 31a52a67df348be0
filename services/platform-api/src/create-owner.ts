import { parseArgs } from 'node:util';
import { runTool } from './assembly/command-line.ts';
import { ensureOwner } from './domains/accounts/ensure-owner.ts';
import { createKey } from './domains/api-keys/use-cases.ts';
import { minPasswordLength } from './domains/users/passwords.ts';
import { isEmail } from './domains/users/rules.ts';

const usage = `usage: node create-owner.js --email NAME@HOST --password PASSWORD --account NAME [--role owner|dealer|superadmin]
(the database is that of MONGODB_URL)`;

await runTool(async (records) => {
  const { values } = parseArgs({
    options: {
      email: { type: 'string' },
      password: { type: 'string' },
      account: { type: 'string' },
      role: { type: 'string', default: 'owner' },
    },
  });
  const { email, password, account, role } = values;
  if (email === undefined || password === undefined || account === undefined) throw new Error(usage);
  if (role !== 'owner' && role !== 'dealer' && role !== 'superadmin') throw new Error(usage);
  if (!isEmail(email)) throw new Error(`${email} is not an e-mail address.`);
  if (password.length < minPasswordLength)
    throw new Error(`The password must have at least ${minPasswordLength} characters.`);
  const { user, created } = await ensureOwner(records, { email, password, accountName: account, role });
  if (!created) throw new Error(`A user with ${email} exists; nothing was changed.`);
  const key = await createKey(records, { accountId: user.accountId, userId: user._id, name: 'owner' });
  return `account ${user.accountId}, user ${user._id}\nAPI key, shown only now: ${key}`;
});
