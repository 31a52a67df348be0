import { Kbd, Modal, Switch, Table, Text } from '@mantine/core';
import '@mantine/core/styles/Kbd.css';
import '@mantine/core/styles/Table.css';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { usePreferences } from '../format/preferences-context.ts';
import { useSession } from '../session/session-context.ts';

/** Keys of every page. Pages explain their own keys where they apply. */
const rows = [
  { name: 'palette', keys: ['Ctrl', 'K'] },
  { name: 'search', keys: ['/'] },
  { name: 'help', keys: ['?'] },
  { name: 'map', keys: ['g', 'm'] },
  { name: 'video', keys: ['g', 'v'] },
  { name: 'events', keys: ['g', 'e'] },
  { name: 'vehicles', keys: ['g', 'l'] },
  { name: 'profile', keys: ['g', 'p'] },
  { name: 'close', keys: ['Esc'] },
] as const;

/** Shows the table of keys, with the switch for single keys. */
export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { api } = useSession();
  const queries = useQueryClient();
  const preferences = usePreferences();
  const save = useMutation({
    mutationFn: (isOn: boolean) =>
      api.PUT('/api/user-preferences/me', {
        body: { dashboard: { ...preferences?.dashboard, single_keys: isOn } } as never,
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getPreferences'] }),
  });
  return (
    <Modal opened onClose={onClose} title={t('keys.title')} closeButtonProps={{ 'aria-label': t('action.close') }}>
      <Table>
        <Table.Tbody>
          {rows.map(({ name, keys }) => (
            <Table.Tr key={name}>
              <Table.Td>
                {keys.map((key, at) => (
                  <Fragment key={key}>
                    {at === 0 ? null : ' '}
                    <Kbd>{key}</Kbd>
                  </Fragment>
                ))}
              </Table.Td>
              <Table.Td>{t(`keys.${name}`)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Switch
        mt="md"
        label={t('keys.single')}
        checked={preferences?.dashboard['single_keys'] !== false}
        onChange={({ currentTarget }) => save.mutate(currentTarget.checked)}
      />
      {save.isError ? (
        <Text role="alert" size="sm">
          {t('failure.title')}
        </Text>
      ) : null}
    </Modal>
  );
}
