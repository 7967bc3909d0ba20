CREATE TABLE public.mediakit_drafts (
    origin text NOT NULL,
    content text NOT NULL,
    saved_at bigint NOT NULL
);
CREATE TABLE public.mediakit_entries (
    number bigint NOT NULL,
    key character varying NOT NULL,
    draw_key character varying NOT NULL,
    asked_key character varying NOT NULL,
    service character varying NOT NULL,
    account character varying NOT NULL,
    function character varying NOT NULL,
    kind character varying NOT NULL,
    body bytea NOT NULL,
    prompt text,
    webhook_url text,
    take integer NOT NULL,
    attempt integer NOT NULL,
    estimate_kind character varying NOT NULL,
    estimate_low_micro_usd bigint,
    estimate_high_micro_usd bigint,
    reserved_micro_usd bigint NOT NULL,
    project text,
    budget text,
    sweep text,
    state character varying(20) NOT NULL,
    job_id text,
    status character varying(20),
    error_code text,
    error_message text,
    billing_state character varying(20),
    charge_micro_usd bigint,
    restated_charge_micro_usd bigint,
    output_url text,
    content_type text,
    media_type text,
    created_at bigint NOT NULL,
    submitted_at bigint,
    finished_at bigint,
    settled_at bigint,
    deleted_at bigint,
    gone_at bigint,
    search text DEFAULT ''::text NOT NULL
);
CREATE SEQUENCE public.mediakit_entries_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.mediakit_entries_number_seq OWNED BY public.mediakit_entries.number;
CREATE TABLE public.mediakit_hashes (
    service character varying NOT NULL,
    account character varying NOT NULL,
    job_id text NOT NULL,
    sha256 character varying NOT NULL
);
CREATE TABLE public.mediakit_judgements (
    service character varying NOT NULL,
    account character varying NOT NULL,
    job_id text NOT NULL,
    rating smallint,
    keep boolean NOT NULL,
    tags text NOT NULL,
    note text NOT NULL,
    rater text NOT NULL,
    rated_at bigint NOT NULL
);
CREATE TABLE public.mediakit_origins (
    origin text NOT NULL,
    key character varying NOT NULL
);
CREATE TABLE public.mediakit_parents (
    draw_key character varying NOT NULL,
    field text NOT NULL,
    job_id text NOT NULL
);
CREATE TABLE public.mediakit_preferences (
    service character varying NOT NULL,
    account character varying NOT NULL,
    winner text NOT NULL,
    loser text NOT NULL,
    tie boolean NOT NULL,
    rater text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.mediakit_scores (
    seen character varying NOT NULL,
    scorer text NOT NULL,
    version text NOT NULL,
    score text NOT NULL,
    scored_at bigint NOT NULL
);
CREATE TABLE public.mediakit_sweep_cells (
    sweep character varying NOT NULL,
    number integer NOT NULL,
    asked_key character varying NOT NULL,
    take integer NOT NULL,
    point text NOT NULL
);
CREATE TABLE public.mediakit_sweeps (
    id character varying NOT NULL,
    service character varying NOT NULL,
    function character varying NOT NULL,
    axes text NOT NULL,
    prompt text,
    code text NOT NULL,
    begun_at bigint NOT NULL
);
CREATE TABLE public.mediakit_totals (
    name text NOT NULL,
    spent_micro_usd bigint NOT NULL,
    reserved_micro_usd bigint NOT NULL,
    limit_micro_usd bigint
);
CREATE TABLE public.mediakit_uploads (
    service character varying NOT NULL,
    sha256 character varying NOT NULL,
    content_type character varying NOT NULL,
    size_bytes bigint NOT NULL,
    url text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.mediakit_version (
    version integer NOT NULL
);
ALTER TABLE ONLY public.mediakit_entries ALTER COLUMN number SET DEFAULT nextval('public.mediakit_entries_number_seq'::regclass);
INSERT INTO public.mediakit_drafts VALUES ('["form"]', '{"values": {"prompt": "unsent"}}', 1795918577815381);
INSERT INTO public.mediakit_entries VALUES (1, '2405a54bf5cdae2917fcacc252a6e5825e0e78aa2b155d09411f52f7713c1aa2', 'b15decbf7e814cdaca99ad7dc79887980db0639b04314218334e05fda9ff9092', '8c0077d883e643cc15f45ddb3d50ab3006073fd53e91dd8b29a61995658ac9a8', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226120726564206b697465222c2275707363616c655f666163746f72223a227832227d', 'a red kite', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_66897fc0-cca0-4c0f-b887-2525152efbc2', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:41237/files/4sShxHto9kQ87Z6YK71L60SyoNhYklot.jpg', 'image/jpeg', 'image', 1795918439691367, 1795918439720380, 1795918441717137, 1795918441717137, NULL, NULL, 'a red kiteimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_66897fc0-cca0-4c0f-b887-2525152efbc2
kites');
INSERT INTO public.mediakit_entries VALUES (2, '722deeb293ccbfb8c7982e5000615dc450ebb3300ae2ab598fafa9b5a996e856', 'b15decbf7e814cdaca99ad7dc79887980db0639b04314218334e05fda9ff9092', '8c0077d883e643cc15f45ddb3d50ab3006073fd53e91dd8b29a61995658ac9a8', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226120726564206b697465222c2275707363616c655f666163746f72223a227832227d', 'a red kite', NULL, 2, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_dec36858-3053-41b5-95a4-89766a97b42c', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:41237/files/JFRILuFJGsyLqsMWmwUMLZtyRR9BdpNh.jpg', 'image/jpeg', 'image', 1795918439751636, 1795918439774990, 1795918442662052, 1795918442662052, NULL, NULL, 'a red kite · take 2image upscale
image-upscale
sandbox/image-upscale/image-upscale
media_dec36858-3053-41b5-95a4-89766a97b42c
kites');
INSERT INTO public.mediakit_entries VALUES (3, '4395330b0567db18c1d5edd484068b3838c5987328c9dadc8953a801675b2ac6', 'b15decbf7e814cdaca99ad7dc79887980db0639b04314218334e05fda9ff9092', '8c0077d883e643cc15f45ddb3d50ab3006073fd53e91dd8b29a61995658ac9a8', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226120726564206b697465222c2275707363616c655f666163746f72223a227832227d', 'a red kite', NULL, 3, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_151d9430-ce9b-45cb-846d-7bf2d8a321bf', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:41237/files/4R51zKQxijah7I3Fek1yVf5cJYYLeoXz.jpg', 'image/jpeg', 'image', 1795918439796518, 1795918439820576, 1795918441403560, 1795918441403560, NULL, NULL, 'a red kite · take 3image upscale
image-upscale
sandbox/image-upscale/image-upscale
media_151d9430-ce9b-45cb-846d-7bf2d8a321bf
kites');
INSERT INTO public.mediakit_entries VALUES (4, '70561a98380e4046357f374bf7aadc2a6d39be639b6f1e043efa8427733fd45f', '8ddb36585a3b697450a78be278def950e67eb7d8eb80330cc298587c81403a63', '8ddb36585a3b697450a78be278def950e67eb7d8eb80330cc298587c81403a63', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/text-to-video/text-to-video', 'text-to-video', '\x7b226173706563745f726174696f223a2231363a39222c22617564696f223a226f6666222c226475726174696f6e223a332c2270726f6d7074223a2261206b697465222c227265736f6c7574696f6e223a2237323070222c22776562686f6f6b5f75726c223a22687474703a2f2f3132372e302e302e313a34313539352f686f6f6b227d', 'a kite', 'http://127.0.0.1:41595/hook', 1, 1, 'exact', 204000, 204000, 204000, 'kites', 'project kites', NULL, 'settled', 'media_657e6a7c-e41b-4e0d-be85-38c07498c24f', 'completed', NULL, NULL, 'settled', 204000, NULL, 'http://127.0.0.1:41237/files/WD-V9U35qiONyyPMMBjWUbqeVx9rbkjq.mp4', 'video/mp4', 'video', 1795918439852284, 1795918439874963, 1795918441835024, 1795918441835024, NULL, NULL, 'a kitetext to video
text-to-video
sandbox/text-to-video/text-to-video
media_657e6a7c-e41b-4e0d-be85-38c07498c24f
kites');
INSERT INTO public.mediakit_entries VALUES (5, '3220258df32b78742bb78b5a8ab12e399a6b20fc4a255566f0e8df65b2bdb495', 'eeaf61fdef4cbbc2d095d883d096248d6c4f164b3e7dff7c871c860bbed3c988', 'eeaf61fdef4cbbc2d095d883d096248d6c4f164b3e7dff7c871c860bbed3c988', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/text-to-video/text-to-video', 'text-to-video', '\x7b226173706563745f726174696f223a2231363a39222c22617564696f223a226f6666222c226475726174696f6e223a332c2270726f6d7074223a2273616e64626f783a6661696c3d636f6e74656e745f6d6f6465726174696f6e222c227265736f6c7574696f6e223a2237323070227d', 'sandbox:fail=content_moderation', NULL, 1, 1, 'exact', 204000, 204000, 204000, 'kites', 'project kites', NULL, 'settled', 'media_ad37d7a0-7c02-4fc5-853d-964e068cfbb4', 'failed', 'content_moderation', 'The request asks for this failure (sandbox:fail=content_moderation).', 'settled', 0, NULL, NULL, NULL, NULL, 1795918439891974, 1795918439904492, 1795918442367914, 1795918442367914, NULL, NULL, 'sandbox:fail=content_moderationtext to video
text-to-video
sandbox/text-to-video/text-to-video
media_ad37d7a0-7c02-4fc5-853d-964e068cfbb4
kites
content_moderation
the request asks for this failure (sandbox:fail=content_moderation).');
INSERT INTO public.mediakit_entries VALUES (6, '699c5f12daf947498ce71d11fb32588bf3c6e0f4c46548912ac7247cd0252a0b', '91f9f30a059a06cd246181b2e729fd22cbacb451a6e8ca9eef3f594bb04ace7a', '60d7c8e2e750e3da646549d93db9e248878313124a4be7390784e784d2691a82', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a2261206b697465207468617420697320657261736564222c2275707363616c655f666163746f72223a227832227d', 'a kite that is erased', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'settled', 'media_aac5ea9b-b8f8-4819-bfdd-80850e96fcfc', 'completed', NULL, NULL, 'settled', 756000, NULL, NULL, 'image/jpeg', 'image', 1795918439922704, 1795918439934753, 1795918441911614, 1795918441911614, 1795918529619732, NULL, 'a kite that is erasedimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_aac5ea9b-b8f8-4819-bfdd-80850e96fcfc
kites');
INSERT INTO public.mediakit_entries VALUES (7, '4a65af57eca562e71507dff06ce5a1a6df6f197b976db900aaab122f5ae2a6f8', '69364eb2186d0cce1d73ad73086bdf57125f2e468cf0890021fcfc5a0201d011', '75bc857ce1879cd15e59a985a3710166916f3586ebc7ea5d7b75f01ed25a9d5b', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f37532d4569766d4579306256456c4f4f644948366c33682d5870626a395758762e706e67222c226d6f64656c223a227374616e646172642d7632222c2275707363616c655f666163746f72223a227832227d', NULL, NULL, 1, 1, 'exact', 126000, 126000, 126000, 'kites', 'project kites', NULL, 'settled', 'media_b3b619d9-86df-4fb8-8149-3e33d15c470a', 'completed', NULL, NULL, 'settled', 126000, NULL, 'http://127.0.0.1:41237/files/uDnUbmHK59XpPsStKjx4--_TRH5B7DYY.jpg', 'image/jpeg', 'image', 1795918439979798, 1795918440006861, 1795918441659858, 1795918442718065, NULL, NULL, 'image upscale upscaled image upscale
image-upscale
sandbox/image-upscale/image-upscale
media_b3b619d9-86df-4fb8-8149-3e33d15c470a
kites');
INSERT INTO public.mediakit_entries VALUES (8, '1d99d5fc3afb73fc78d9321c207a8426c592af6f81d746b6444d061ca05bc050', '31438cd32960517c1304da3759b7604acc505872b7baf47c2f2b6ecd84648c23', '881cddfe87cb6cdd13817b9c3585b0d68018e4fb69fdaf7da89ab537e62b9e23', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f347353687848746f396b5138375a36594b37314c363053796f4e68596b6c6f742e6a7067222c226d6f64656c223a227374616e646172642d7632222c2275707363616c655f666163746f72223a227832227d', NULL, NULL, 1, 1, 'exact', 126000, 126000, 126000, 'kites', 'project kites', NULL, 'settled', 'media_3dacc5d3-a959-4587-b0a9-ca188901e26f', 'completed', NULL, NULL, 'settled', 126000, NULL, 'http://127.0.0.1:41237/files/cTcrDuGOOl4Zvc0lTbTVCa0WaSB5P6PD.jpg', 'image/jpeg', 'image', 1795918442723924, 1795918442734904, 1795918443070588, 1795918443070588, NULL, NULL, 'image upscale upscaled  a red kiteimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_3dacc5d3-a959-4587-b0a9-ca188901e26f
kites');
INSERT INTO public.mediakit_entries VALUES (9, '1faa2d1bc45c8965873208a5a0a1f9fdb5fbd479669900f0b473bea749bd0621', '52dcdd2d635ed6c142ada5e6035a199b9901dc30e645ce1b521177453392fb6c', '2dc8ec7c0b7b7fbf2c4b28227284e0d74d6d3a2419397015c3d267fa862adef7', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226475736b222c2275707363616c655f666163746f72223a227832227d', 'dusk', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', 'b8860554aef483d1', 'settled', 'media_07371d7f-f6a7-4c94-a523-f30295828492', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:41237/files/WK14CEOKbd_QoyGe2KX_6pu73a0QGh6s.jpg', 'image/jpeg', 'image', 1795918449838810, 1795918449845075, 1795918450168219, 1795918450168219, NULL, NULL, 'duskimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_07371d7f-f6a7-4c94-a523-f30295828492
kites');
INSERT INTO public.mediakit_entries VALUES (10, 'bf3a544049754637c33e0a2f18e7e6cd60f41e99f3cb25e24d6d80fc11e916e9', '5d839dcf1882ea1025108c2664019e3853aaf57106b79b4242005bce80b11e6e', 'c76c8a74557d160da894606c28f2ab3f3e00381a251b137632c16f06fc1f4c17', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226461776e222c2275707363616c655f666163746f72223a227832227d', 'dawn', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', 'b8860554aef483d1', 'settled', 'media_7d164db5-2a59-469e-8d48-cfcf65acd6dc', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:41237/files/QZwSA0zNawo691S30S-qsJD71tHsTcBC.jpg', 'image/jpeg', 'image', 1795918449840920, 1795918449850723, 1795918450222966, 1795918450222966, NULL, NULL, 'dawnimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_7d164db5-2a59-469e-8d48-cfcf65acd6dc
kites');
INSERT INTO public.mediakit_entries VALUES (11, '40031ac88fb3df3e455983f9d9914723f505c5164a56bc7aecafba53c1a217b1', 'fb55dcf22ef8a17f11312d326e43fd5e031a664f31c88bc39a25c5c9f9158928', '0042080aff8a1e0548265dfbb3be7ff3542fc18ff1160d997c3009bb4f704dea', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226e6f20616e737765722c206e6f206a6f62222c2275707363616c655f666163746f72223a227832227d', 'no answer, no job', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'unanswered', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795918450501161, NULL, NULL, NULL, NULL, NULL, 'no answer, no jobimage upscale
image-upscale
sandbox/image-upscale/image-upscale
kites');
INSERT INTO public.mediakit_entries VALUES (12, '48e29a4208f3f0429bfbe4b7cd25d40736e2afa0fb4f0652ed88c1ac7e132ba0', '1c6bb526cee8d0064c9b28f5ce6362f2eec95174d5f009c0a1aecb9df1482b18', '3bcfe71cd0ec30d9de60bd2b388151bf58b12b78d5b7f92eecd3b8d659a48c59', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a226e6f20616e737765722c206275742061206a6f62222c2275707363616c655f666163746f72223a227832227d', 'no answer, but a job', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'unanswered', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795918513286859, NULL, NULL, NULL, NULL, NULL, 'no answer, but a jobimage upscale
image-upscale
sandbox/image-upscale/image-upscale
kites');
INSERT INTO public.mediakit_entries VALUES (13, '7206775a108d8e850af13398ed30472bc5aaa84b682e48f1a9e8e152075ec392', '541c72dfd5e69e52dc20cf637c9e4be21293ae2710bfcf1dfe6a020e8e7bfb3b', 'ec7db70b97a262e1d4d7cbfd1d6ea488c262c27cc6c740318540c98a4e96f4b0', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a227265667573656420776974686f75742061206a6f62222c2275707363616c655f666163746f72223a227832227d', 'refused without a job', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'refused', NULL, NULL, '422', 'This was refused.', NULL, NULL, NULL, NULL, NULL, NULL, 1795918577795149, NULL, NULL, NULL, NULL, NULL, 'refused without a jobimage upscale
image-upscale
sandbox/image-upscale/image-upscale
kites
422
this was refused.');
INSERT INTO public.mediakit_entries VALUES (14, 'b43871afa1f44344be925fa7a535b52ef9093c644f79792b8fff02a8f061be0f', '688ed454ab4f64f9d3d6020589e5dd1d9f78de3cd4296321e8e095268c4c1f88', '593a8723e4e572c5e393d6485df3fbf63f248670f571766ff6ec97ce04a7ce6d', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a2272656a6563746564222c2275707363616c655f666163746f72223a227832227d', 'rejected', NULL, 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'terminal', 'media_7b678bed-8e22-4a85-bbb3-0985f5179a6c', 'failed', 'admission_suspended', 'The organization is suspended: it can read but not submit. Nothing was charged.', NULL, NULL, NULL, NULL, NULL, NULL, 1795918577803672, 1795918577806409, 1795918577806409, NULL, NULL, NULL, 'rejectedimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_7b678bed-8e22-4a85-bbb3-0985f5179a6c
kites
admission_suspended
the organization is suspended: it can read but not submit. nothing was charged.');
INSERT INTO public.mediakit_entries VALUES (15, '1903f42b39253ed71538e4e2733a5165e6657796cba6890970cf64eb4eb57a3a', '009951e01a5a7e161b8541aefe605e65fc6b698d620de7f54311d1d3261e5d73', '26337622858e3e8d912d52d91808530f3b00ae199652de6cc5e7adb725a9a3ea', 'http://127.0.0.1:41237', '955d0876b75e74b1', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f5f5959374e323335654471745f48527a4370496c625465464961433448636b5a2e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a22627920416e61222c2275707363616c655f666163746f72223a227832227d', 'by Ana', NULL, 1, 1, 'exact', 756000, 756000, 756000, NULL, NULL, NULL, 'settled', 'media_78be0927-2818-4e13-9bcf-c40c80c6d503', 'completed', NULL, NULL, 'settled', 756000, NULL, 'http://127.0.0.1:41237/files/s5TcfVqIt0KLZUch2EM_VLS30f0xZ5Pp.jpg', 'image/jpeg', 'image', 1795918578249340, 1795918578266903, 1795918578612853, 1795918578612853, NULL, NULL, 'by anaimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_78be0927-2818-4e13-9bcf-c40c80c6d503');
INSERT INTO public.mediakit_entries VALUES (16, '1493ef308e4f56bbadef7f519e5e470b75955f3da31fc2975bfb867f666b677a', 'c2308feb11117b62e2bc811d92e076004afbfb9cd82e3e427a6e88b52ffd7c59', '7e5cfc9a12e0d3c4cc278b23ce20a4af7ae2d94b4c199ff23cce13e07407ea90', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'sandbox/image-upscale/image-upscale', 'image-upscale', '\x7b22696d6167655f75726c223a22687474703a2f2f3132372e302e302e313a34313233372f66696c65732f496f354b306762434f50547a59626d434c63396c5962795646626c2d643761692e706e67222c226d6f64656c223a227374616e646172642d6d6178222c2270726f6d7074223a227374696c6c20696e20746865207175657565222c2275707363616c655f666163746f72223a227832222c22776562686f6f6b5f75726c223a22687474703a2f2f3132372e302e302e313a392f686f6f6b73227d', 'still in the queue', 'http://127.0.0.1:9/hooks', 1, 1, 'exact', 756000, 756000, 756000, 'kites', 'project kites', NULL, 'submitted', 'media_e27f2410-52e1-4b43-b16c-9322286da008', 'queued', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1795918579118953, 1795918579183956, NULL, NULL, NULL, NULL, 'still in the queueimage upscale
image-upscale
sandbox/image-upscale/image-upscale
media_e27f2410-52e1-4b43-b16c-9322286da008
kites');
INSERT INTO public.mediakit_hashes VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'media_7d164db5-2a59-469e-8d48-cfcf65acd6dc', 'a87f090983e899814a554fd85d8ec0384029bd37cf8ea5a84ee02ad17aebc4e3');
INSERT INTO public.mediakit_hashes VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'media_07371d7f-f6a7-4c94-a523-f30295828492', 'e746e8321ea29ab5b449636fb8886426939a8e66c781db3977044f3254d0e335');
INSERT INTO public.mediakit_judgements VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'media_7d164db5-2a59-469e-8d48-cfcf65acd6dc', 4, false, '[]', '', '', 1795918450444001);
INSERT INTO public.mediakit_judgements VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'media_66897fc0-cca0-4c0f-b887-2525152efbc2', 5, true, '["final", "red"]', 'the best of all; Größe £5', 'ana', 1795918577812756);
INSERT INTO public.mediakit_judgements VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'media_dec36858-3053-41b5-95a4-89766a97b42c', 2, false, '[]', '', '', 1795918577814750);
INSERT INTO public.mediakit_origins VALUES ('["form"]', '2405a54bf5cdae2917fcacc252a6e5825e0e78aa2b155d09411f52f7713c1aa2');
INSERT INTO public.mediakit_parents VALUES ('31438cd32960517c1304da3759b7604acc505872b7baf47c2f2b6ecd84648c23', 'image_url', 'media_66897fc0-cca0-4c0f-b887-2525152efbc2');
INSERT INTO public.mediakit_preferences VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'a0bf223f31b1d118', 'media_7d164db5-2a59-469e-8d48-cfcf65acd6dc', 'media_07371d7f-f6a7-4c94-a523-f30295828492', false, 'ana', 1795918577810757);
INSERT INTO public.mediakit_scores VALUES ('a87f090983e899814a554fd85d8ec0384029bd37cf8ea5a84ee02ad17aebc4e3', 'tests.support.old_data.sharpness', '2-b9907428532f82bd', '{"score": 504.5, "reason": "its bytes"}', 1795918450424238);
INSERT INTO public.mediakit_scores VALUES ('e746e8321ea29ab5b449636fb8886426939a8e66c781db3977044f3254d0e335', 'tests.support.old_data.sharpness', '2-b9907428532f82bd', '{"score": 503.5, "reason": "its bytes"}', 1795918450426900);
INSERT INTO public.mediakit_sweep_cells VALUES ('b8860554aef483d1', 0, 'c76c8a74557d160da894606c28f2ab3f3e00381a251b137632c16f06fc1f4c17', 1, '{"prompt": "dawn", "take": 1}');
INSERT INTO public.mediakit_sweep_cells VALUES ('b8860554aef483d1', 1, '2dc8ec7c0b7b7fbf2c4b28227284e0d74d6d3a2419397015c3d267fa862adef7', 1, '{"prompt": "dusk", "take": 1}');
INSERT INTO public.mediakit_sweeps VALUES ('b8860554aef483d1', 'sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'sandbox/image-upscale/image-upscale', '["prompt"]', NULL, 'plan = client.sweep(
    ''image-upscale'',
    prompt=[''dawn'', ''dusk''],
    image_url=''/tmp/tmp3hcchvdj/small.png'',
    model=''standard-max'',
)', 1795918449827665);
INSERT INTO public.mediakit_totals VALUES ('account sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749 a0bf223f31b1d118', 4992000, 2268000, NULL);
INSERT INTO public.mediakit_totals VALUES ('budget project kites', 4992000, 2268000, 25000000);
INSERT INTO public.mediakit_totals VALUES ('sweep b8860554aef483d1', 1512000, 0, 5000000);
INSERT INTO public.mediakit_totals VALUES ('account http://127.0.0.1:41237 955d0876b75e74b1', 756000, 0, NULL);
INSERT INTO public.mediakit_uploads VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'baa633be20d224c899a93e0cc1e0cfb02297dbfbd098e18a581417816a3b3b1d', 'image/png', 154, 'http://127.0.0.1:41237/files/Io5K0gbCOPTzYbmCLc9lYbyVFbl-d7ai.png', 1795918439670257);
INSERT INTO public.mediakit_uploads VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', 'db8177bb5b787e2828d6a9bba7f44926886a3385e01295a68163556b4596f93f', 'image/png', 158, 'http://127.0.0.1:41237/files/7S-EivmEy0bVElOOdIH6l3h-Xpbj9WXv.png', 1795918439968713);
INSERT INTO public.mediakit_uploads VALUES ('sandbox:6c971ed6-fa82-4d09-a3ae-e424b83a5749', '6a2ce6bbcd77e1c98dd0d67f078159b88f9fc33b13a187d7e61727cab950ec1c', 'image/png', 123, 'http://127.0.0.1:41237/files/eoK_RlUFnbD_xasCN1Thcp42HJEvspaq.png', 1795918450490489);
INSERT INTO public.mediakit_uploads VALUES ('http://127.0.0.1:41237', 'baa633be20d224c899a93e0cc1e0cfb02297dbfbd098e18a581417816a3b3b1d', 'image/png', 154, 'http://127.0.0.1:41237/files/_YY7N235eDqt_HRzCpIlbTeFIaC4HckZ.png', 1795918578243243);
INSERT INTO public.mediakit_version VALUES (11);
SELECT pg_catalog.setval('public.mediakit_entries_number_seq', 16, true);
ALTER TABLE ONLY public.mediakit_drafts
    ADD CONSTRAINT mediakit_drafts_pkey PRIMARY KEY (origin);
ALTER TABLE ONLY public.mediakit_entries
    ADD CONSTRAINT mediakit_entries_key_key UNIQUE (key);
ALTER TABLE ONLY public.mediakit_entries
    ADD CONSTRAINT mediakit_entries_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.mediakit_hashes
    ADD CONSTRAINT mediakit_hashes_pkey PRIMARY KEY (service, account, job_id);
ALTER TABLE ONLY public.mediakit_judgements
    ADD CONSTRAINT mediakit_judgements_pkey PRIMARY KEY (service, account, job_id);
ALTER TABLE ONLY public.mediakit_origins
    ADD CONSTRAINT mediakit_origins_pkey PRIMARY KEY (origin, key);
ALTER TABLE ONLY public.mediakit_parents
    ADD CONSTRAINT mediakit_parents_pkey PRIMARY KEY (draw_key, field);
ALTER TABLE ONLY public.mediakit_scores
    ADD CONSTRAINT mediakit_scores_pkey PRIMARY KEY (seen, scorer, version);
ALTER TABLE ONLY public.mediakit_sweep_cells
    ADD CONSTRAINT mediakit_sweep_cells_pkey PRIMARY KEY (sweep, number);
ALTER TABLE ONLY public.mediakit_sweeps
    ADD CONSTRAINT mediakit_sweeps_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mediakit_totals
    ADD CONSTRAINT mediakit_totals_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.mediakit_uploads
    ADD CONSTRAINT mediakit_uploads_pkey PRIMARY KEY (service, sha256, content_type);
CREATE UNIQUE INDEX ix_mediakit_asked ON public.mediakit_entries USING btree (asked_key, take, attempt);
CREATE INDEX ix_mediakit_charges ON public.mediakit_entries USING btree (service, settled_at, account, charge_micro_usd);
CREATE INDEX ix_mediakit_draw ON public.mediakit_entries USING btree (draw_key, take);
CREATE INDEX ix_mediakit_function ON public.mediakit_entries USING btree (service, function);
CREATE UNIQUE INDEX ix_mediakit_job ON public.mediakit_entries USING btree (job_id) WHERE (job_id IS NOT NULL);
CREATE INDEX ix_mediakit_kind ON public.mediakit_entries USING btree (kind, number);
CREATE INDEX ix_mediakit_origins ON public.mediakit_origins USING btree (key);
CREATE INDEX ix_mediakit_parents ON public.mediakit_parents USING btree (job_id);
CREATE INDEX ix_mediakit_preferences ON public.mediakit_preferences USING btree (service, account, at);
CREATE INDEX ix_mediakit_sweep ON public.mediakit_entries USING btree (sweep) WHERE (sweep IS NOT NULL);
