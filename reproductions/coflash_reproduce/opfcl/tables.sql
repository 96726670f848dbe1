-- The tables of the queries of opfcl.md.

create table tiers as
select *, list_position($BOTH, experiment) as workload, "response_ns.all.mean" as response, hit_ratio(n) as hits,
    gc_time_ns / requests as gc_time, "erase_count.mean" as erases,
    ("hybrid.bypassed_reads_pages" + "hybrid.bypassed_writes_pages") / (host_reads_pages + host_writes_pages) as passed,
    "hybrid.given_up_pages" / nullif("hybrid.destages_pages", 0) as given_up
from runs;

create macro near(value, place, n, share) as arg_min(value, (abs(place - share), n));

create table best as
select experiment, line, arg_min(n, (response, n)) as n, arg_min(place, (response, n)) as place, min(response) as response
from tiers group by experiment, line;

create table ours as
select t.*, fp.place as fp_place, fp.response as fp_response, rw.place as rw_place, rw.response as rw_response,
    coalesce(change(t.response, fp.response), 0) as over_fp, coalesce(change(t.response, rw.response), 0) as over_rw,
    mean_of(settled(t.n)) as settles,
    late_ns(t.n) / (select min(late_ns(n)) from runs f where f.experiment = t.experiment and f.line = $FP) - 1 as late
from tiers t left join best fp on fp.experiment = t.experiment and fp.line = $FP
    left join best rw on rw.experiment = t.experiment and rw.line = $RW
where list_contains($OURS, t.line);

create table at_best as
select experiment, line, arg_min(place, mean) as place
from (select experiment, line, place, avg(response) as mean from tiers group by all) group by experiment, line;

create table calmest as -- Without checkpoints another share may be the best of a line than with them.
select replace(experiment, '-near', '-judged') as experiment, seed, min(calm_ns(n, false)) filter (line = $FP) as fp,
    min(calm_ns(n, false)) filter (line = $RW) as rw
from tiers where experiment like '%-near' group by experiment, seed;

create table judged as
select replace(o.experiment, '-judged', '') as experiment, o.line, o.title, o.seed, o.requests, f.place as fp_place,
    r.place as rw_place, change(o.response, f.response) as over_fp, change(o.response, r.response) as over_rw,
    change(r.response, f.response) as rw_over_fp, f.response as fp, r.response as rw, o.response, mean_of(settled(o.n)) as settles,
    coalesce(o.given_up, 0) as given_up, change(calm_ns(o.n, false), nullif(c.fp, 0)) as calm_fp, change(calm_ns(o.n, false), nullif(c.rw, 0)) as calm_rw
from tiers o join tiers f using (experiment, seed) join tiers r using (experiment, seed)
    left join calmest c on c.experiment = o.experiment and c.seed = o.seed
where o.experiment like '%-judged' and o.line = $OP and f.line = $FP and r.line = $RW;

create table wear as
select experiment, any_value(title) as title, any_value(workload) as workload, arg_min(erases, place) as first,
    arg_max(erases, place) as most, arg_max(erases, place) filter (place <= 70) as until_70,
    arg_max(erases, place) filter (place <= 80) as until_80, coalesce((until_70 - first) / nullif(most - first, 0), 0) as early,
    arg_max(erases_blocks, place) as most_blocks, arg_min(erases_blocks, (response, n)) as fastest_blocks
from tiers where line = $FP group by experiment;

create table saved as
select w.*, coalesce(w.most_blocks / nullif(o.erases_blocks, 0), 0) as ratio,
    coalesce(w.fastest_blocks / nullif(o.erases_blocks, 0), 0) as fastest
from wear w join ours o using (experiment) where o.line = $OP;

create table curves as
select experiment, line, n, place, coalesce(response, 0) as response, coalesce(hits, 0) as hits,
    coalesce(gc_time, 0) as gc_time, coalesce(erases, 0) as erases
from tiers;

create table enough_periods as
select *, "hybrid.period_requests" as period from tiers where requests >= $LEAST_PERIODS * "hybrid.period_requests";

create table published as
select unnest(map_keys($BEST_SHARES)) as experiment, 100 * unnest(map_values($BEST_SHARES))::double as best,
    unnest(map_values($ERASES_AXES))::double as most_erases;

create macro too_fast(names) as table
select format('**With {} requests come faster than the disks can serve them**: they are busy for {} of the time, and with no '
    'partition for less. Then a mean response says how long the trace is, and not how good a partition: replay it at a lower '
    'rate, or on more disks.', title, written(min(coalesce("hybrid.disk_utilisation", 0)), '.1%'))
from tiers where list_contains(names, experiment) and is_open(n)
group by experiment, title having min(coalesce("hybrid.disk_utilisation", 0)) >= $OVERLOADED
order by list_position($BOTH, experiment);

create macro copied(names) as table
select format('Pages copied for each page that is put into flash, with FP-FCL at its best share, and in brackets what the model '
    'expects there by equation 3: {}.', string_agg(format('{} with {} at {} ({})', written(coalesce(gc_copies_pages
    / nullif("programs_pages.host" + "programs_pages.evict", 0), 0), '.2f'), title, share(b.place),
    written(valid / (1 - valid), '.2f')), ', ' order by list_position($BOTH, experiment)))
from (select *, victim_utilisation(place / 100) as valid from best where line = $FP) b
    join tiers t using (experiment, n)
where list_contains(names, experiment);

create macro over_time(names) as table
with samples as (
    select title, list_position(names, experiment) as rank, caching(n) as whole, read_limits(n) as reads,
        logical(n) as requests, case when list_contains($DAYS, experiment) then 8 else 4 end as moments
    from runs where list_contains(names, experiment) and line = $OP
), moments as (
    select *, unnest(range(moments + 1)) as moment, moment * (len(whole) - 1) // moments + 1 as sample from samples
)
select title as " ", whole(1e6 * requests[sample]) as requests, shown(whole[sample], 'share') as "caching space",
    shown(reads[sample], 'share') as "read cache", shown(whole[sample] - reads[sample], 'share') as "write cache",
    shown(1 - whole[sample], 'share') as "over-provisioned"
from moments order by rank, moment;

create table rises as
select experiment, line, near(gc_time, place, n, 80) - near(gc_time, place, n, 70) as rise from curves group by all;
