import { Button, Group, SegmentedControl } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSummary } from '../queries.ts';
import { type EventsSearch, type Status, statuses } from '../search.ts';

interface StatusTabsProps {
  readonly search: EventsSearch;
  /** Number of events that arrived after the list was read. */
  readonly newCount: number;
  readonly onChange: (search: EventsSearch) => void;
  readonly onShowNew: () => void;
}

/** Chooses open, acknowledged or all events, and shows how many are open and how many are new. */
export function StatusTabs({ search, newCount, onChange, onShowNew }: StatusTabsProps) {
  const { t } = useTranslation('events');
  const { data: summary } = useSummary(search);
  const open = Object.values(summary?.open ?? {}).reduce((sum, each) => sum + each, 0);
  const choose = (status: string): void => {
    const { status: _before, page: _page, ...filters } = search;
    onChange(status === 'open' ? filters : { ...filters, status: status as Exclude<Status, 'open'> });
  };
  return (
    <Group gap="sm" justify="space-between">
      <SegmentedControl
        size="xs"
        aria-label={t('status.label')}
        value={search.status ?? 'open'}
        data={statuses.map((value) => ({
          value,
          label: value === 'open' && summary ? t('status.openCount', { count: open }) : t(`status.${value}`),
        }))}
        onChange={choose}
      />
      {newCount === 0 ? null : (
        <Button size="compact-sm" variant="light" onClick={onShowNew}>
          {t('newEvents', { count: newCount })}
        </Button>
      )}
    </Group>
  );
}
