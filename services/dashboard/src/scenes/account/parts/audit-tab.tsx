import type { components } from '@fleet/api-client';
import { Button, NativeSelect, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatCsv } from '../../../common/csv/csv.ts';
import { downloadText } from '../../../common/csv/download-text.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import type { Session } from '../../../common/session/session.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { ListStates } from '../../../common/ui/list-states.tsx';
import { Pages } from '../../../common/ui/pages.tsx';
import { Empty, Failure } from '../../../common/ui/states.tsx';
import { useUsers } from '../queries.ts';

type AuditEntry = components['schemas']['AuditEntry'];

interface AuditFilter {
  readonly action: string;
  readonly userId: string;
  readonly from: string;
  readonly to: string;
}

const noFilter: AuditFilter = { action: '', userId: '', from: '', to: '' };
const pageSize = 50;
const exportPageSize = 200;
/** The export stops here; a narrower filter exports the rest. */
const maxExported = 20_000;
const dayMs = 86_400_000;

const toQuery = ({ action, userId, from, to }: AuditFilter) => ({
  sort: '-created_at' as const,
  ...(action === '' ? {} : { action }),
  ...(userId === '' ? {} : { user_id: Number(userId) }),
  ...(from === '' ? {} : { from: new Date(from).toISOString() }),
  // The last day is included.
  ...(to === '' ? {} : { to: new Date(Date.parse(to) + dayMs).toISOString() }),
});

const readPage = async (api: Session['api'], filter: AuditFilter, limit: number, offset: number) => {
  const query = { ...toQuery(filter), limit, offset };
  const { data } = await api.GET('/api/audit-log', { params: { query } });
  return { items: data?.data ?? [], total: data?.meta.pagination.total ?? 0 };
};

async function readAll(api: Session['api'], filter: AuditFilter): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  while (entries.length < maxExported) {
    const { items } = await readPage(api, filter, exportPageSize, entries.length);
    entries.push(...items);
    if (items.length < exportPageSize) break;
  }
  return entries;
}

type NameOf = (entry: AuditEntry) => string;

const toRow = (entry: AuditEntry, nameOf: NameOf) => [
  entry.created_at,
  nameOf(entry),
  entry.action,
  entry.target?.type ?? null,
  entry.target?.id ?? null,
  entry.ip,
  JSON.stringify(entry.detail),
];

/** Shows who did what in the account, with filters and an export. */
export function AuditTab() {
  const { t } = useTranslation('account');
  const { api } = useSession();
  const [filter, setFilter] = useState(noFilter);
  const [page, setPage] = useState(1);
  const users = useUsers();
  const entries = useQuery({
    queryKey: ['listAuditLog', filter, page],
    placeholderData: (before) => before,
    queryFn: () => readPage(api, filter, pageSize, (page - 1) * pageSize),
  });
  const nameOf: NameOf = ({ user_id: id, user_name: name }) => name ?? (id === null ? t('audit.system') : `#${id}`);
  const save = useMutation({
    mutationFn: async () => {
      const all = await readAll(api, filter);
      const header = ['time', 'user', 'action', 'target_type', 'target_id', 'ip', 'detail'];
      downloadText('audit-log.csv', formatCsv([header, ...all.map((entry) => toRow(entry, nameOf))]));
    },
  });
  const change = (part: Partial<AuditFilter>): void => {
    setFilter({ ...filter, ...part });
    setPage(1);
  };
  return (
    <section aria-label={t('tab.audit')}>
      <AuditFilters filter={filter} users={users.data ?? []} onChange={change}>
        <Button variant="default" loading={save.isPending} onClick={() => save.mutate()}>
          {t('audit.export')}
        </Button>
      </AuditFilters>
      {save.isError ? <Failure error={save.error} /> : null}
      <ListStates query={entries} items={entries.data?.items} empty={<Empty title={t('audit.empty')} />}>
        {(items) => <AuditTable entries={items} nameOf={nameOf} />}
      </ListStates>
      <Text size="sm">{t('audit.total', { total: entries.data?.total ?? 0 })}</Text>
      <Pages page={page} total={entries.data?.total ?? 0} pageSize={pageSize} onChange={setPage} />
    </section>
  );
}

interface AuditFiltersProps {
  readonly filter: AuditFilter;
  readonly users: readonly { readonly id: number; readonly name: string }[];
  readonly onChange: (part: Partial<AuditFilter>) => void;
  /** Buttons beside the filters. */
  readonly children: ReactNode;
}

function AuditFilters({ filter, users, onChange, children }: AuditFiltersProps) {
  const { t } = useTranslation('account');
  return (
    <div className="toolbar" role="search">
      <TextInput
        label={t('audit.action')}
        placeholder="users.update"
        value={filter.action}
        onChange={({ currentTarget }) => onChange({ action: currentTarget.value.trim() })}
      />
      <NativeSelect
        label={t('audit.user')}
        data={[
          { value: '', label: t('audit.any') },
          ...users.map(({ id, name }) => ({ value: String(id), label: name })),
        ]}
        value={filter.userId}
        onChange={({ currentTarget }) => onChange({ userId: currentTarget.value })}
      />
      {(['from', 'to'] as const).map((side) => (
        <TextInput
          key={side}
          type="date"
          label={t(`audit.${side}`)}
          value={filter[side]}
          onChange={({ currentTarget }) => onChange({ [side]: currentTarget.value })}
        />
      ))}
      {children}
    </div>
  );
}

interface AuditTableProps {
  readonly entries: readonly AuditEntry[];
  readonly nameOf: NameOf;
}

function AuditTable({ entries, nameOf }: AuditTableProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={t('tab.audit')}>
      <table className="data">
        <thead>
          <tr>
            {(['time', 'user', 'action', 'target', 'detail'] as const).map((column) => (
              <th key={column}>{t(`audit.${column}`)}</th>
            ))}
            <th>IP</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td>{format.exact(Date.parse(entry.created_at))}</td>
              <td>{nameOf(entry)}</td>
              <td>
                <code>{entry.action}</code>
              </td>
              <td>{entry.target === null ? '' : `${entry.target.type} ${entry.target.id}`}</td>
              <td className="audit-detail">
                {Object.keys(entry.detail).length === 0 ? '' : JSON.stringify(entry.detail)}
              </td>
              <td>{entry.ip}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
