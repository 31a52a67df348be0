import type { components } from '@fleet/api-client';
import { Button, Checkbox, Group, NumberInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import '@mantine/core/styles/NumberInput.css';

type Config = components['schemas']['GlobalConfig'];
type Part = 'sms' | 'push' | 'email' | 'retention';

/** Shows the settings of the account, one card for each part, each saved alone. */
export function ConfigurationTab() {
  const { t } = useTranslation('account');
  const { api } = useSession();
  const config = useQuery({
    queryKey: ['getGlobalConfig'],
    queryFn: async () => (await api.GET('/api/global-config')).data?.data,
  });
  if (config.isPending) return <Loading />;
  if (config.isError) return <Failure error={config.error} onRetry={() => void config.refetch()} />;
  if (config.data === undefined) return null;
  return (
    <section className="settings-cards" aria-label={t('tab.configuration')}>
      <SmsCard config={config.data} />
      <PushCard config={config.data} />
      <EmailCard config={config.data} />
      <RetentionCard config={config.data} />
    </section>
  );
}

function useSavePart<P extends Part>(part: P) {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (values: Partial<Config[P]>) => api.PUT('/api/global-config', { body: { [part]: values } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getGlobalConfig'] }),
  });
}

interface CardProps {
  readonly title: string;
  readonly save: { readonly isPending: boolean; readonly isSuccess: boolean; readonly error: unknown };
  readonly onSubmit: React.ComponentProps<'form'>['onSubmit'];
  readonly children: ReactNode;
}

function Card({ title, save, onSubmit, children }: CardProps) {
  const { t } = useTranslation('account');
  const id = useId();
  return (
    <form className="card" aria-labelledby={id} onSubmit={onSubmit}>
      <h2 id={id}>{title}</h2>
      <Stack>
        {save.error === null ? null : <Failure error={save.error} />}
        {children}
        <Group>
          <Button type="submit" loading={save.isPending}>
            {t('common:action.save')}
          </Button>
          <Text role="status" size="sm">
            {save.isSuccess ? t('configuration.saved') : ''}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}

function SmsCard({ config: { sms } }: { config: Config }) {
  const { t } = useTranslation('account');
  const save = useSavePart('sms');
  const form = useForm({
    initialValues: { enabled: sms.enabled, sender_id: sms.sender_id ?? '', daily_limit: sms.daily_limit },
  });
  const submit = form.onSubmit(({ sender_id: sender, ...rest }) =>
    save.mutate({ ...rest, sender_id: sender === '' ? null : sender }),
  );
  return (
    <Card title={t('configuration.sms')} save={save} onSubmit={submit}>
      <Checkbox label={t('configuration.enabled')} {...form.getInputProps('enabled', { type: 'checkbox' })} />
      <TextInput label={t('configuration.sender')} maxLength={20} {...form.getInputProps('sender_id')} />
      <NumberInput label={t('configuration.dailyLimit')} min={0} required {...form.getInputProps('daily_limit')} />
    </Card>
  );
}

function PushCard({ config: { push } }: { config: Config }) {
  const { t } = useTranslation('account');
  const save = useSavePart('push');
  const form = useForm({ initialValues: { enabled: push.enabled, dedupe_seconds: push.dedupe_seconds } });
  return (
    <Card title={t('configuration.push')} save={save} onSubmit={form.onSubmit((values) => save.mutate(values))}>
      <Checkbox label={t('configuration.enabled')} {...form.getInputProps('enabled', { type: 'checkbox' })} />
      <NumberInput label={t('configuration.dedupe')} min={0} required {...form.getInputProps('dedupe_seconds')} />
    </Card>
  );
}

function EmailCard({ config: { email } }: { config: Config }) {
  const { t } = useTranslation('account');
  const save = useSavePart('email');
  const form = useForm({ initialValues: { enabled: email.enabled, from: email.from ?? '' } });
  const submit = form.onSubmit(({ enabled, from }) => save.mutate({ enabled, from: from === '' ? null : from }));
  return (
    <Card title={t('configuration.email')} save={save} onSubmit={submit}>
      <Checkbox label={t('configuration.enabled')} {...form.getInputProps('enabled', { type: 'checkbox' })} />
      <TextInput label={t('configuration.from')} type="email" {...form.getInputProps('from')} />
    </Card>
  );
}

const retentionFields = ['locations_days', 'notifications_days', 'media_days'] as const;

function RetentionCard({ config: { retention } }: { config: Config }) {
  const { t } = useTranslation('account');
  const save = useSavePart('retention');
  const form = useForm({ initialValues: { ...retention } });
  return (
    <Card title={t('configuration.retention')} save={save} onSubmit={form.onSubmit((values) => save.mutate(values))}>
      {retentionFields.map((name) => (
        <NumberInput
          key={name}
          label={t(`configuration.${name}`)}
          min={1}
          max={3650}
          required
          {...form.getInputProps(name)}
        />
      ))}
    </Card>
  );
}
