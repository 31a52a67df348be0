import type { components } from '@fleet/api-client';
import { Badge, Button, Group, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { Failure } from '../../../common/ui/states.tsx';

type Command = components['schemas']['Command'];

const maxCommands = 10;

interface CommandsProps {
  readonly vehicleId: number;
  readonly isConnected: boolean;
}

/** Sends texts and wake-ups, and lists the commands with the results that the terminal reported. */
export function Commands({ vehicleId, isConnected }: CommandsProps) {
  const { t } = useTranslation('vehicle');
  const { api } = useSession();
  const queries = useQueryClient();
  const form = useForm({ initialValues: { text: '' } });
  const path = { vehicleId };
  const commands = useQuery({
    queryKey: ['listCommands', vehicleId],
    queryFn: async () => {
      const query = { limit: maxCommands };
      return (await api.GET('/api/vehicles/{vehicleId}/commands', { params: { path, query } })).data?.data ?? [];
    },
  });
  const send = useMutation({
    mutationFn: (body: { type: 'text' | 'wakeup' | 'locate'; params?: Record<string, unknown> }) =>
      api.POST('/api/vehicles/{vehicleId}/commands', { params: { path }, body }),
    onSuccess: async () => {
      form.reset();
      await queries.invalidateQueries({ queryKey: ['listCommands', vehicleId] });
    },
  });
  return (
    <section className="card" aria-label={t('commands')}>
      <h2>{t('commands')}</h2>
      <Stack gap="sm">
        {send.isError ? <Failure error={send.error} /> : null}
        {isConnected ? null : <p>{t('queuedHint')}</p>}
        <form onSubmit={form.onSubmit(({ text }) => send.mutate({ type: 'text', params: { text } }))}>
          <Group align="flex-end" gap="sm">
            <TextInput label={t('text')} required maxLength={200} {...form.getInputProps('text')} />
            <Button type="submit" loading={send.isPending}>
              {t('send')}
            </Button>
          </Group>
        </form>
        <Group gap="sm">
          <Button size="xs" variant="default" onClick={() => send.mutate({ type: 'wakeup' })}>
            {t('wake')}
          </Button>
          <Button size="xs" variant="default" onClick={() => send.mutate({ type: 'locate' })}>
            {t('locate')}
          </Button>
        </Group>
        {commands.isError ? <Failure error={commands.error} onRetry={() => void commands.refetch()} /> : null}
        <ul className="row-list">
          {commands.data?.map((command) => (
            <CommandRow key={command.id} command={command} />
          ))}
        </ul>
      </Stack>
    </section>
  );
}

function CommandRow({ command }: { command: Command }) {
  const { t } = useTranslation('vehicle');
  const result = command.result ?? command.error_message ?? command.error;
  return (
    <li>
      <span>{t(`command.${command.type}`, { defaultValue: command.type })}</span>
      <Badge variant="default">{t(`status.${command.status}`, { defaultValue: command.status })}</Badge>
      <span>{result}</span>
      <small>
        <Age timeMs={Date.parse(command.created_at)} />
      </small>
    </li>
  );
}
