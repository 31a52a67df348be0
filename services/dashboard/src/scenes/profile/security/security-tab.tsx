import { Stack } from '@mantine/core';
import { useCan } from '../../../common/session/session-context.ts';
import { ApiKeys } from './api-keys.tsx';
import { PasswordForm } from './password-form.tsx';
import { Sessions } from './sessions.tsx';
import { TwoFactor } from './two-factor.tsx';

/** Shows password, second factor, sessions, and for administrators the API keys of the account. */
export function SecurityTab() {
  const can = useCan();
  return (
    <Stack>
      <PasswordForm />
      <TwoFactor />
      <Sessions />
      {can('administration') ? <ApiKeys /> : null}
    </Stack>
  );
}
