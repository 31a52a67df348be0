import { Badge, Button, Code, Group, Modal, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe, useSession } from '../../../common/session/session-context.ts';
import { CopyText } from '../../../common/ui/copy-text.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { QrCode } from './qr-code.tsx';

/** Enables and disables the second factor of the log-in. */
export function TwoFactor() {
  const { t } = useTranslation('profile');
  const { two_factor_enabled: isEnabled } = useMe();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section className="card" aria-label={t('twoFactor.title')}>
      <Group mb="sm">
        <Title order={2} size="h4">
          {t('twoFactor.title')}
        </Title>
        <Badge variant="default">{t(isEnabled ? 'twoFactor.on' : 'twoFactor.off')}</Badge>
      </Group>
      <Text c="dimmed" mb="sm">
        {t('twoFactor.hint')}
      </Text>
      <Button variant="default" onClick={() => setIsOpen(true)}>
        {t(isEnabled ? 'twoFactor.disable' : 'twoFactor.enable')}
      </Button>
      {isOpen ? <TwoFactorDialog onClose={() => setIsOpen(false)} /> : null}
    </section>
  );
}

/** Decides once, because the user changes while the dialog is open. */
function TwoFactorDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('profile');
  const { two_factor_enabled: isEnabled } = useMe();
  const [wasEnabled] = useState(isEnabled);
  return (
    <Modal
      opened
      onClose={onClose}
      title={t(wasEnabled ? 'twoFactor.disable' : 'twoFactor.enable')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      {wasEnabled ? <Disable onClose={onClose} /> : <Enable onClose={onClose} />}
    </Modal>
  );
}

interface CodeFormProps {
  readonly label: string;
  readonly action: string;
  readonly isPending: boolean;
  readonly onSubmit: (code: string) => void;
}

function CodeForm({ label, action, isPending, onSubmit }: CodeFormProps) {
  const [code, setCode] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(code.trim());
      }}
    >
      <Group align="end">
        <TextInput
          label={label}
          autoComplete="one-time-code"
          required
          value={code}
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
        />
        <Button type="submit" loading={isPending}>
          {action}
        </Button>
      </Group>
    </form>
  );
}

function Enable({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('profile');
  const session = useSession();
  const start = useMutation({
    mutationFn: async () => {
      const { data } = await session.api.POST('/api/auth/totp', { body: {} });
      return data !== undefined && 'secret' in data.data ? data.data : undefined;
    },
  });
  const confirm = useMutation({
    mutationFn: async (code: string) => {
      const { data } = await session.api.POST('/api/auth/totp', { body: { code } });
      return data !== undefined && 'recovery_codes' in data.data ? data.data.recovery_codes : [];
    },
    onSuccess: () => session.reload(),
  });
  if (confirm.data !== undefined) return <RecoveryCodes codes={confirm.data} onClose={onClose} />;
  if (start.data === undefined)
    return (
      <Stack>
        {start.isError ? <Failure error={start.error} /> : null}
        <Text>{t('twoFactor.steps')}</Text>
        <Button loading={start.isPending} onClick={() => start.mutate()}>
          {t('twoFactor.start')}
        </Button>
      </Stack>
    );
  return (
    <Stack>
      <QrCode text={start.data.otpauth_url} label={t('twoFactor.qrCode')} />
      <Text size="sm">{t('twoFactor.manual')}</Text>
      <Group>
        <Code className="secret">{start.data.secret}</Code>
        <CopyText text={start.data.secret} />
      </Group>
      {confirm.isError ? <Failure error={confirm.error} /> : null}
      <CodeForm
        label={t('twoFactor.code')}
        action={t('twoFactor.confirm')}
        isPending={confirm.isPending}
        onSubmit={(code) => confirm.mutate(code)}
      />
    </Stack>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const { t } = useTranslation('profile');
  return (
    <Stack>
      <Text>{t('twoFactor.recoveryOnce')}</Text>
      <ul className="recovery-codes" aria-label={t('twoFactor.recoveryCodes')}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <Group justify="space-between">
        <CopyText text={codes.join('\n')} />
        <Button onClick={onClose}>{t('twoFactor.saved')}</Button>
      </Group>
    </Stack>
  );
}

function Disable({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('profile');
  const session = useSession();
  const disable = useMutation({
    mutationFn: (code: string) => session.api.DELETE('/api/auth/totp', { body: { code } }),
    onSuccess: async () => {
      await session.reload();
      onClose();
    },
  });
  return (
    <Stack>
      {disable.isError ? <Failure error={disable.error} /> : null}
      <CodeForm
        label={t('twoFactor.codeOrRecovery')}
        action={t('twoFactor.disable')}
        isPending={disable.isPending}
        onSubmit={(code) => disable.mutate(code)}
      />
    </Stack>
  );
}
