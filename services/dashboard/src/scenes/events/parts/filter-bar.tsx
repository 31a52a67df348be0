import { Group, NativeSelect, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useGroups, useVehicles } from '../../../common/fleet/queries.ts';
import { useIsLeaving } from '../../../common/navigation/use-is-leaving.ts';
import { severities } from '../../../common/ui/severity.ts';
import { useNotificationTypes, useSummary } from '../queries.ts';
import { type EventsSearch, parseEventsSearch } from '../search.ts';

const typingMs = 400;

interface FilterBarProps {
  readonly search: EventsSearch;
  readonly onChange: (search: EventsSearch) => void;
}

/** Shows the filters of the inbox. Types are those that occur among the other filters. */
export function FilterBar({ search, onChange }: FilterBarProps) {
  const { t } = useTranslation('events');
  const { type, ...others } = search;
  const { data: summary } = useSummary(others);
  const { data: types = [] } = useNotificationTypes();
  const { data: vehicles = [] } = useVehicles();
  const { data: groups = [] } = useGroups();
  const set = (part: Record<string, unknown>): void =>
    onChange(parseEventsSearch({ ...search, page: undefined, ...part }));
  const select = (
    name: 'severity' | 'type' | 'group' | 'vehicle',
    data: readonly { value: string; label: string }[],
    read: (value: string) => unknown = (value) => value,
  ) => (
    <NativeSelect
      size="xs"
      aria-label={t(`filter.${name}`)}
      data={[{ value: '', label: t(`filter.${name}`) }, ...data]}
      value={String(search[name] ?? '')}
      onChange={({ currentTarget: { value } }) => set({ [name]: value === '' ? undefined : read(value) })}
    />
  );
  const titleOf = (name: string): string => types.find((each) => each.type === name)?.title ?? name;
  const occurring = Object.entries(summary?.by_type ?? {}).filter(([, count]) => count > 0);
  const choices = new Map([
    ...occurring,
    ...(type === undefined ? [] : [[type, summary?.by_type[type] ?? 0] as const]),
  ]);
  return (
    <Group gap={6} role="search" aria-label={t('filter.label')}>
      <SearchField value={search.q ?? ''} onChange={(q) => set({ q })} />
      {select(
        'severity',
        severities.map((value) => ({ value, label: t(`common:severity.${value}`) })),
      )}
      {select(
        'type',
        [...choices].map(([value, count]) => ({ value, label: `${titleOf(value)} (${count})` })),
      )}
      {groups.length === 0
        ? null
        : select(
            'group',
            groups.map(({ id, name }) => ({ value: String(id), label: name })),
            Number,
          )}
      {select(
        'vehicle',
        vehicles.map(({ id, vehicle_no: label }) => ({ value: String(id), label })),
        Number,
      )}
      {(['from', 'to'] as const).map((side) => (
        <TextInput
          key={side}
          size="xs"
          type="date"
          aria-label={t(`filter.${side}`)}
          title={t(`filter.${side}`)}
          value={search[side] ?? ''}
          onChange={({ currentTarget }) => set({ [side]: currentTarget.value })}
        />
      ))}
    </Group>
  );
}

/** The text to search for, which applies shortly after the last key. */
function SearchField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const { t } = useTranslation('events');
  const [text, setText] = useState(value);
  const isLeaving = useIsLeaving();
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      if (!isLeaving()) onChange(text);
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <TextInput
      size="xs"
      type="search"
      aria-label={t('filter.query')}
      placeholder={t('filter.query')}
      value={text}
      maxLength={200}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}
